import { isUtf8 } from 'node:buffer';
import { stripVTControlCharacters, styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Adds colours if the stream is a terminal and NO_COLOR is not set. */
export function styled(format: Format, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(format, text, { stream });
}

/** Makes untrusted text safe for a terminal, on one line without control characters. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

/** Aligns rows, whose cells may be styled, in columns. `right` are the columns of numbers. */
export function formatTable(rows: readonly (readonly string[])[], right: ReadonlySet<number> = new Set()): string[] {
  const widthOf = (cell: string): number => stripVTControlCharacters(cell).length;
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  const padded = (cell: string, column: number): string => {
    const padding = ' '.repeat((widths[column] ?? 0) - widthOf(cell));
    return right.has(column) ? padding + cell : cell + padding;
  };
  return rows.map((row) => row.map(padded).join('  ').trimEnd());
}

/** Formats a percentage with one decimal, rounded down: 66.99 % must not appear as 67 %. */
export function percentOf(part: bigint, whole: bigint): string {
  if (whole === 0n) return '0.0 %';
  const tenths = (1_000n * part) / whole;
  return `${tenths / 10n}.${tenths % 10n} %`;
}

/** Formats `sourceBlockchainId` as `source blockchain ID`. */
export function wordsOf(name: string): string {
  return name
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replaceAll(/\bids?\b/g, (id) => id.replace('id', 'ID'))
    .replace('bls', 'BLS')
    .replace(/^p chain/, 'P-Chain');
}

/**
 * Formats a record of the API as text: a line for each field with its name in words, nested records indented. It works for all kinds of
 * records.
 */
export function recordLines(record: object, indent = ''): string[] {
  const fields = Object.entries(record).filter(([, value]) => value !== undefined);
  const plain = fields.filter(([, value]) => !isNested(value));
  const width = Math.max(0, ...plain.map(([name]) => wordsOf(name).length));
  return fields.flatMap(([name, value]: [string, unknown]) => {
    const words = wordsOf(name);
    if (!isNested(value)) {
      const bytesText = BYTES.has(name) ? textOfHex(String(value)) : undefined;
      const quoted = bytesText === undefined ? '' : `  "${printable(bytesText)}"`;
      return [`${indent}${styled('dim', words.padEnd(width))}  ${scalarText(value)}${quoted}`];
    }
    const records = Array.isArray(value) ? (value as readonly object[]) : [value];
    return records.flatMap((inner, index) => {
      const title = records.length > 1 ? `${words} ${index + 1}` : words;
      return [`${indent}${styled('bold', title)}`, ...recordLines(inner, `${indent}  `)];
    });
  });
}

/** Fields of any bytes, which may be text. */
const BYTES: ReadonlySet<string> = new Set(['payload', 'bytes', 'message']);

function textOfHex(hex: string): string | undefined {
  const bytes = Buffer.from(hex, 'hex');
  const text = bytes.toString();
  const isReadable = isUtf8(bytes) && !/[\p{Cc}--[\t\n\r]]/v.test(text);
  return text !== '' && isReadable ? text : undefined;
}

function isNested(value: unknown): value is object {
  if (Array.isArray(value)) return typeof value[0] === 'object';
  return typeof value === 'object' && value !== null;
}

function scalarText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.map(scalarText).join(', ');
  if (value === '') return '(empty)';
  return printable(String(value));
}
