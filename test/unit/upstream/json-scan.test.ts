import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJson, MAX_SCANNED_BYTES } from '../../../src/upstream/json-scan.ts';

/** Whatever JSON is made of, and what it must not have. */
const PARTS = [
  ...[...'{}[]:,"\\/ \t\n\r0123456789+-.eEabfnrtuF'],
  ...['true', 'false', 'null', '""', '"a":', '\\u00e9', '\\ud800', '1e5', '-0', '0.5', '{}', '[]'],
  ...['é', '😀', '\u0000', '\u001f', '\u007f', '\u2028', '\ufeff', "'", '// a comment\n', 'NaN', 'Infinity'],
];
const part = fc.constantFrom(...PARTS);

describe('isJson', () => {
  test('takes whatever is written as JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        expect(scan(JSON.stringify(value, undefined, indent))).toBe(true);
      }),
    );
  });

  test('takes what JSON.parse takes, of anything that is nearly JSON', () => {
    const nearly = fc.tuple(fc.jsonValue(), fc.nat(), fc.nat({ max: 2 }), part).map(([value, place, cut, inserted]) => {
      const text = JSON.stringify(value);
      const at = place % (text.length + 1);
      return text.slice(0, at) + inserted + text.slice(at + cut);
    });
    fc.assert(fc.property(nearly, expectAsParsed), { numRuns: 5_000 });
  });

  test('takes what JSON.parse takes, of any parts in any order', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => expectAsParsed(parts.join(''))),
      {
        numRuns: 20_000,
      },
    );
  });

  test('takes what JSON.parse takes, of each pair of parts', () => {
    for (const first of PARTS) for (const second of PARTS) expectAsParsed(first + second);
  });

  test('takes brackets within brackets, as many as fit', () => {
    const depth = MAX_SCANNED_BYTES / 2;
    expect(scan('['.repeat(depth) + ']'.repeat(depth))).toBe(true);
    expect(scan(`${'['.repeat(depth - 1)}{${']'.repeat(depth)}`)).toBe(false);
    expect(scan('['.repeat(2 * depth))).toBe(false);
    const members = '{"a":'.repeat(2_000);
    expect(scan(`${members}0${'}'.repeat(2_000)}`)).toBe(true);
    expect(scan(`${members}0${'}'.repeat(1_999)}`)).toBe(false);
  });

  test('is not asked about more than it says', () => {
    expect(() => scan(' '.repeat(MAX_SCANNED_BYTES + 1))).toThrow(RangeError);
  });
});

function scan(text: string): boolean {
  return isJson(new TextEncoder().encode(text));
}

function expectAsParsed(text: string): void {
  let parses = true;
  try {
    JSON.parse(text);
  } catch {
    parses = false;
  }
  expect(scan(text), JSON.stringify(text)).toBe(parses);
}
