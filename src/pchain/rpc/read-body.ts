import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';

/** Longer than any sentence. A longer body is not read to its end, and its connection is closed. */
const MAX_ERROR_BODY_BYTES = 65_536;

/** Reads the body as text. @throws {ParseError} if it is too long, and closes its connection */
export async function readBody(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const bytes = new GrowingBuffer();
  for await (const chunk of body) {
    // Leaving the loop destroys the body and its connection.
    if (bytes.length + chunk.length > maxBytes) throw new ParseError('response', `has more than ${maxBytes} bytes`);
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
