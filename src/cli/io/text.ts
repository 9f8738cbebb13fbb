import { stripVTControlCharacters, styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Colours where the stream is a terminal, and nobody has switched them off (NO_COLOR). */
export function styled(format: Format, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(format, text, { stream });
}

/** What others have written, on one line: it may hold anything, and what moves a terminal's cursor must not come through. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

/** Rows in columns as wide as their widest cell. `right` are the columns of numbers. */
export function formatTable(rows: readonly (readonly string[])[], right: ReadonlySet<number> = new Set()): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) =>
        right.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** In percent of the whole, with one decimal, rounded down: 66.99 % must not look like the 67 % that it is not. */
export function percentOf(part: bigint, whole: bigint): string {
  if (whole === 0n) return '0.0 %';
  const tenths = (1_000n * part) / whole;
  return `${tenths / 10n}.${tenths % 10n} %`;
}

/** `sourceBlockchainId` as `source blockchain ID`. */
export function wordsOf(name: string): string {
  return name
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replaceAll(/\bids?\b/g, (id) => id.replace('id', 'ID'))
    .replace('bls', 'BLS')
    .replace(/^p chain/, 'P-Chain');
}
