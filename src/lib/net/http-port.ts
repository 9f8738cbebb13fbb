import { type Dispatcher, EnvHttpProxyAgent, interceptors, Pool } from 'undici';

/** Opens connections to an HTTP origin, which tests simulate. The caller owns the dispatcher and must destroy it. */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

/**
 * Opens a pool, or connections through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for the origin. Compressed bodies are decoded,
 * errors included. `maxResponseSize` bounds the bytes before and after decoding; callers without it bound what they read, and all bound
 * the time of a request.
 */
export const openHttpPool: OpenHttp = (origin, options) => {
  const bounded = { allowH2: false, headersTimeout: 0, bodyTimeout: 0, ...options };
  const decompress = interceptors.decompress({ skipErrorResponses: false, maxSize: options.maxResponseSize ?? 0 });
  if (isLoopback(new URL(origin).hostname)) return new Pool(origin, bounded).compose(decompress);
  // Without these variables it is a pool, too. It serves any origin, so each request has to name its own.
  return new EnvHttpProxyAgent(bounded).compose(
    (dispatch) => (request, handler) => dispatch({ ...request, origin }, handler),
    decompress,
  );
};

/** A proxy cannot reach what listens on this machine only. */
export function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost\.?)$/.test(hostname);
}
