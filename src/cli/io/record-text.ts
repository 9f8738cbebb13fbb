import { printable, styled, wordsOf } from './text.ts';

/**
 * A record of the API in lines for people: a line for each field, with its name in words; records within it are indented. It knows no
 * kinds, so that whatever is decoded some day is shown, too.
 */
export function recordLines(record: object, indent = ''): string[] {
  const fields = Object.entries(record).filter(([, value]) => value !== undefined);
  const plain = fields.filter(([, value]) => !isNested(value));
  const width = Math.max(0, ...plain.map(([name]) => wordsOf(name).length));
  return fields.flatMap(([name, value]: [string, unknown]) => {
    const words = wordsOf(name);
    if (!isNested(value)) return [`${indent}${styled('dim', words.padEnd(width))}  ${scalarText(value)}`];
    const records = Array.isArray(value) ? (value as readonly object[]) : [value];
    return records.flatMap((inner, index) => {
      const title = records.length > 1 ? `${words} ${index + 1}` : words;
      return [`${indent}${styled('bold', title)}`, ...recordLines(inner, `${indent}  `)];
    });
  });
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
