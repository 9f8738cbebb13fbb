import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';

/** Longer than any sentence. A longer body is not read to its end, and its connection is closed. */
const MAX_ERROR_BODY_BYTES = 65_536;

/** A longer body is long. Most responses have less than 16 KiB. */
const SHORT_BODY_BYTES = 65_536;

/** Grants the right to read the rest of a long body, until it is disposed of. */
export type AcquireLong = () => Disposable | Promise<Disposable>;

/**
 * Reads the body as text.
 *
 * @param acquireLong called once when the body proves to be long; meanwhile nothing more is read
 * @throws {ParseError} if it is too long, and closes its connection
 */
export async function readBody(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  acquireLong?: AcquireLong,
): Promise<string> {
  const bytes = new GrowingBuffer();
  using permits = new DisposableStack();
  for await (const chunk of body) {
    const length = bytes.length + chunk.length;
    // Leaving the loop destroys the body and its connection.
    if (length > maxBytes) throw new ParseError('response', `has more than ${maxBytes} bytes`);
    const isLong = bytes.length <= SHORT_BODY_BYTES && length > SHORT_BODY_BYTES;
    if (isLong && acquireLong !== undefined) permits.use(await acquireLong());
    bytes.append(chunk, maxBytes);
  }
  return bytes.take().toString('utf8');
}

/** Reads the body of an HTTP error, at most its beginning. */
export async function readErrorBody(body: AsyncIterable<Buffer>): Promise<string> {
  const bytes = new GrowingBuffer();
  for await (const chunk of body) {
    const part = chunk.subarray(0, MAX_ERROR_BODY_BYTES - bytes.length);
    bytes.append(part, MAX_ERROR_BODY_BYTES);
    if (part.length < chunk.length) break;
  }
  return bytes.take().toString('utf8');
}
