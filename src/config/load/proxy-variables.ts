import type { Environment } from '../schema/variables.ts';

/**
 * Returns why a variable for HTTP proxies cannot be used, without its value, which may contain a password. undici reads the variables
 * itself.
 */
export function findProxyProblem(environment: Environment = process.env): string | undefined {
  const wrong = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'].find((name) => {
    const text = environment[name];
    return text && !['http:', 'https:', 'socks5:'].includes(URL.parse(text)?.protocol ?? '');
  });
  return wrong && `${wrong} must be a URL of http, https or socks5, such as http://proxy.example:3128`;
}
