/** Longest text of an upstream's error that is passed on, over all parts of a list: enough for every sentence. */
const MAX_LENGTH = 2_000;
/** Most parts of a list. */
const MAX_PARTS = 100;

/** What an upstream's error says in words. */
export interface RefusalWords {
  /** A text, or a list of texts where the upstream sent a list. Undefined where it says nothing, as with a gateway's page of HTML. */
  readonly message: string | readonly string[] | undefined;
  /** The whole body, where that is a JSON-RPC error or a batch with one. */
  readonly rpcBody: string | undefined;
}

const NOTHING: RefusalWords = { message: undefined, rpcBody: undefined };

/**
 * Reads the words out of an error's body in any of the usual forms: `message` as a text or a list of texts, `error` as a text, or a
 * JSON-RPC error.
 *
 * @param redact takes our keys out of a text
 */
export function findRefusalWords(text: string, redact: (text: string) => string): RefusalWords {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return NOTHING;
  }
  const rpcMessage = [body]
    .flat()
    .map(rpcMessageOf)
    .find((message) => message !== undefined);
  return {
    message: rpcMessage === undefined ? messageOf(body, redact) : cut(redact(rpcMessage)),
    rpcBody: rpcMessage === undefined ? undefined : redactStrings(text, redact),
  };
}

function messageOf(body: unknown, redact: (text: string) => string): RefusalWords['message'] {
  if (!isObject(body)) return undefined;
  const { message, error } = body;
  const parts = [message].flat().filter((part) => typeof part === 'string' && part !== '');
  const [first] = parts;
  if (Array.isArray(message) && first !== undefined) return cutAll(parts as string[], redact);
  const found = first ?? error;
  return typeof found === 'string' && found !== '' ? cut(redact(found)) : undefined;
}

/** The message of a JSON-RPC error, empty where it has none; undefined where the response is no error. */
function rpcMessageOf(response: unknown): string | undefined {
  if (!isObject(response) || response['jsonrpc'] !== '2.0' || !isObject(response['error'])) return undefined;
  const { message } = response['error'];
  return typeof message === 'string' ? message : '';
}

function cutAll(parts: readonly string[], redact: (text: string) => string): string[] {
  let left = MAX_LENGTH;
  const kept: string[] = [];
  for (const part of parts.slice(0, MAX_PARTS)) {
    if (left === 0) break;
    const text = redact(part).slice(0, left);
    left -= text.length;
    kept.push(text);
  }
  return kept;
}

function cut(text: string): string | undefined {
  return text === '' ? undefined : text.slice(0, MAX_LENGTH);
}

/** The same JSON with its texts redacted, and all else, the digits of numbers too, as it was written. */
function redactStrings(json: string, redact: (text: string) => string): string {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, (written) => {
    const text = JSON.parse(written) as string;
    const redacted = redact(text);
    return redacted === text ? written : JSON.stringify(redacted);
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
