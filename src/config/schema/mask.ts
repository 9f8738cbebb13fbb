export const MASK = '***';

export function maskedUrl(text: string): string {
  return text.replace(/\/\/.*@/s, `//${MASK}@`).replace(/[?#].*$/s, `?${MASK}`);
}

/** Masks what follows the host of a base URL: some providers have the key in the path. */
export function maskedBaseUrl(text: string): string {
  const [, origin, rest] = /^(https?:\/\/[^/\\?#@]+)\/?(.*)$/is.exec(text) ?? [];
  if (origin === undefined) return MASK;
  return rest === '' ? text : `${origin}/${MASK}`;
}
