export const MASK = '***';

export function maskedUrl(text: string): string {
  return text.replace(/\/\/.*@/s, `//${MASK}@`).replace(/[?#].*$/s, `?${MASK}`);
}

/** Masks user and password, and what follows the host of a base URL: some providers have the key in the path. */
export function maskedBaseUrl(text: string): string {
  const [, scheme, user = '', host, rest = ''] =
    /^((?:https?|wss?):\/\/)([^/\\?#@]*@)?([^/\\?#@]+)\/?(.*)$/is.exec(text) ?? [];
  // A password with a slash would end the host.
  if (scheme === undefined || rest.includes('@')) return MASK;
  if (user === '' && rest === '') return text;
  return `${scheme}${user && `${MASK}@`}${host}${rest && `/${MASK}`}`;
}
