import { createReadStream } from 'node:fs';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH } from '../../warp/unsigned-message.ts';
import { usageFailure } from '../exit-codes.ts';

/** The longest signed message in hex, with 8 KiB of signer bits, and as much again for lines and spaces. */
const MAX_INPUT_CHARACTERS = 4 * (MAX_UNSIGNED_MESSAGE_LENGTH + 16 * 1024);

export interface InputOptions {
  readonly file?: string | undefined;
}

/**
 * Bytes that somebody gives in hex: as an argument, in a file or on standard input. White space in it means nothing, as programs that
 * write hex break it into lines.
 *
 * @param what names what is wanted, for the errors
 * @throws {CommandFailure}
 */
export async function readHexInput(
  what: string,
  given: string | undefined,
  { file }: InputOptions,
): Promise<Uint8Array> {
  if (given !== undefined && file !== undefined)
    throw usageFailure(`give ${what} as an argument or by --file, not both`);
  const { text, source } = await readInput(what, given, file);
  const digits = text.replaceAll(/\s+/g, '');
  if (digits === '' || digits === '0x') throw usageFailure(`${source} is empty: give ${what} in hex`);
  if (digits.startsWith('0X'))
    throw usageFailure(`${source} starts with 0X: the prefix of hex is 0x, or there is none`);
  try {
    return parseHex(digits, source);
  } catch (error) {
    if (error instanceof ParseError) throw usageFailure(`${source} ${error.reason}`, { cause: error });
    throw error;
  }
}

async function readInput(what: string, given: string | undefined, file: string | undefined) {
  if (given !== undefined && given !== '-') return { text: given, source: 'the argument' };
  if (file !== undefined) return { text: await readTextFile(file, MAX_INPUT_CHARACTERS), source: file };
  if (process.stdin.isTTY && given !== '-') {
    throw usageFailure(`${what} is missing: give it as an argument, by --file FILE, or on standard input`);
  }
  return { text: await readStandardInput(), source: 'standard input' };
}

/** @throws {CommandFailure} */
export async function readTextFile(path: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    // Up to the first byte too many, and not by its size: a pipe has none.
    for await (const chunk of createReadStream(path, { end: maxBytes })) chunks.push(chunk as Buffer);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw usageFailure(`${path} cannot be read: ${WHY_UNREADABLE.get(code) ?? message}`, { cause: error });
  }
  const bytes = Buffer.concat(chunks);
  // Without the mark that some editors put before UTF-8.
  if (bytes.length <= maxBytes) return new TextDecoder().decode(bytes);
  throw usageFailure(`${path} is too long: it may have ${maxBytes} bytes`);
}

const WHY_UNREADABLE: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EISDIR', 'it is a folder'],
  ['EACCES', 'permission denied'],
]);

async function readStandardInput(): Promise<string> {
  let text = '';
  process.stdin.setEncoding('utf8');
  for await (const chunk of process.stdin as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_INPUT_CHARACTERS) {
      throw usageFailure(`standard input is too long: it may have ${MAX_INPUT_CHARACTERS} characters`);
    }
  }
  return text;
}
