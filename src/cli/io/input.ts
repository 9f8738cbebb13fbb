import { createReadStream } from 'node:fs';
import { maskedUrl } from '../../config/schema/mask.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { describeFileError } from '../../lib/net/file-error.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH } from '../../warp/unsigned-message.ts';
import { usageFailure } from './exit-codes.ts';

/** The longest signed message in hex, with 8 KiB of signer bits, and as much white space. */
const MAX_INPUT_CHARACTERS = 4 * (MAX_UNSIGNED_MESSAGE_LENGTH + 16 * 1024);

export interface InputOptions {
  readonly file?: string | undefined;
}

/**
 * Reads bytes in hex from an argument, a file or standard input. White space is ignored.
 *
 * @param what names the input in errors
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
  const bytes = attempt(() => parseHex(digits, source));
  if (bytes instanceof ParseError) throw usageFailure(`${source} ${bytes.reason}`, { cause: bytes });
  return bytes;
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
    // Reads up to the first byte too many, because a pipe has no size.
    for await (const chunk of createReadStream(path, { end: maxBytes })) chunks.push(chunk as Buffer);
  } catch (error) {
    throw usageFailure(`${path} cannot be read: ${describeFileError(error)}`, { cause: error });
  }
  const bytes = Buffer.concat(chunks);
  // TextDecoder skips a byte order mark.
  if (bytes.length <= maxBytes) return new TextDecoder().decode(bytes);
  throw usageFailure(`${path} is too long: it may have ${maxBytes} bytes`);
}

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

/**
 * Parses the URL of an option.
 *
 * @param meaning describes the allowed value
 * @throws {CommandFailure}
 */
export function parseAddress(text: string, option: string, meaning: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageFailure(`${option} must be ${meaning}, is ${maskedUrl(text)}`);
  }
  return url;
}
