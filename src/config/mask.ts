/** Stands where a secret would. */
export const MASK = '***';

/** A URL without user, password and what follows its path. */
export function maskedUrl(text: string): string {
  return text.replace(/\/\/.*@/s, `//${MASK}@`).replace(/[?#].*$/s, `?${MASK}`);
}
