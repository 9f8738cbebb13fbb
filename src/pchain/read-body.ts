import { ParseError } from '../primitives/parse-error.ts';

/** The whole body as text. @throws {ParseError} where it is longer than allowed; its connection is closed then */
export async function readBody(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    // Leaving the loop destroys the body, and with it the connection.
    if (length > maxBytes) throw new ParseError('response', `has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString('utf8');
}
