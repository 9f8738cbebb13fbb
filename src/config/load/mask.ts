/** Stands where a secret would. */
export const MASK = '***';

/** A URL without user, password and what follows its path. */
export function maskedUrl(text: string): string {
  return text.replace(/\/\/.*@/s, `//${MASK}@`).replace(/[?#].*$/s, `?${MASK}`);
}

/** The base URL of an API without what follows its host: a path may be a key as well, which some providers have there. */
export function maskedBaseUrl(text: string): string {
  const [, origin, rest] = /^(https?:\/\/[^/\\?#@]+)\/?(.*)$/is.exec(text) ?? [];
  if (origin === undefined) return MASK;
  return rest === '' ? text : `${origin}/${MASK}`;
}
