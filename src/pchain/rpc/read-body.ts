import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';

/** The whole body as text. @throws {ParseError} where it is longer than allowed; its connection is closed then */
export async function readBody(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const bytes = new GrowingBuffer();
  for await (const chunk of body) {
    // Leaving the loop destroys the body, and with it the connection.
    if (bytes.length + chunk.length > maxBytes) throw new ParseError('response', `has more than ${maxBytes} bytes`);
    bytes.append(chunk, maxBytes);
  }
  return bytes.take().toString('utf8');
}
