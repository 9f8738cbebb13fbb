/** Of an upstream's error, as much as is enough for every sentence. */
const MAX_LENGTH = 2_000;

/**
 * What an upstream's error says in words, out of the forms there are: `message` a text, or a list of them as the metrics
 * service has it, or `error` alone. Undefined where it says nothing, as a gateway's page of HTML.
 */
export function findRefusalMessage(text: string): string | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof body !== 'object' || body === null) return undefined;
  const { message, error } = body as Readonly<Record<string, unknown>>;
  const parts = [message].flat().filter((part) => typeof part === 'string' && part !== '');
  const found = parts.length > 0 ? parts.join('; ') : error;
  return typeof found === 'string' && found !== '' ? found.slice(0, MAX_LENGTH) : undefined;
}
