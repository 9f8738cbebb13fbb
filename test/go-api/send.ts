import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request to `/aggregate-signatures` on the wire. */
export interface GoRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array | undefined;
}

/** The compared parts of an answer. */
export interface GoAnswer {
  readonly status: number;
  readonly type: string | undefined;
  /** Keys of a JSON object, in their order. */
  readonly keys: readonly string[];
  /** What `error` has, or a body that is no JSON object. */
  readonly text: string;
}

/** Longer than the reference collects signatures, which is 20 s. */
const TIMEOUT_MS = 40_000;

/** Sends the request over a new connection, so that no answer depends on an earlier request. */
export async function sendGoRequest(url: string, { method, path, headers, body }: GoRequest): Promise<GoAnswer> {
  const isPlain = body !== undefined && headers['transfer-encoding'] === undefined;
  const sent = request(url, {
    method,
    path,
    agent: false,
    headers: { ...(isPlain && { 'content-length': String(Buffer.byteLength(body)) }), ...headers },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answered = new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      const { statusCode: status = 0, headers: ofAnswer } = response;
      text(response).then((content) => resolve({ status, headers: ofAnswer, text: content }), reject);
    });
  });
  sent.end(body);
  const { status, headers: ofAnswer, text: content } = await answered;
  return { status, type: ofAnswer['content-type'], ...describe(content) };
}

function describe(content: string): Pick<GoAnswer, 'keys' | 'text'> {
  if (!content.startsWith('{')) return { keys: [], text: content };
  const body = JSON.parse(content) as { readonly error?: string };
  return { keys: Object.keys(body), text: body.error ?? '' };
}
