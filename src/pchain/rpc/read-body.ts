import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';

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
