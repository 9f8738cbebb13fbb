import fc from 'fast-check';
import { expect, test } from 'vitest';
import { membersOf } from '../../../../src/lib/encoding/json-source.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { parseJson } from '../../../../src/lib/encoding/parse-json.ts';

const parse = (text: string): unknown => parseJson(text, 'answer');
const nested = (levels: number, [open, close] = ['[', ']']): string => open.repeat(levels) + close.repeat(levels);

test('JSON of other parties is parsed like any JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parse(text))).toBe(text);
    }),
  );
});

test.each([
  ['lists', ['[', ']']],
  ['objects', ['{"a":', '}']],
] as const)('%s are nested in up to 64 levels, and more are refused before they are parsed', (_, [open, close]) => {
  const nest = (levels: number): string => `${open.repeat(levels - 1)}[]${close.repeat(levels - 1)}`;
  expect(parse(nest(64))).toBeTypeOf('object');
  expect(() => parse(nest(65))).toThrow('answer: is nested in more than 64 levels');
  // Not even malformed JSON is parsed.
  expect(() => parse(open.repeat(750_000))).toThrow('more than 64 levels');
});

test('no reviver is chosen for a text that is too large', () => {
  const neverAsked = (): never => expect.fail('the text was looked at');
  expect(() => parseJson(nested(65), 'answer', neverAsked)).toThrow('more than 64 levels');
  expect(parseJson('[1]', 'answer', () => (_key, value) => (value === 1 ? 2 : value))).toEqual([2]);
});

test('levels that were closed do not count, nor brackets in texts', () => {
  const texts = [nested(100), '"', '\\', '\\"', `"${nested(100)}`, '\\\\"[', '\\u005b'.repeat(100)];
  const value = [...texts, ...Array.from({ length: 100 }, () => [[texts]])];
  expect(parse(JSON.stringify(value))).toEqual(value);
});

test('up to a million values are parsed', () => {
  const list = (count: number): string => `[${'0,'.repeat(count - 1)}0]`;
  expect(parse(list(1_000_000))).toHaveLength(1_000_000);
  expect(() => parse(list(1_000_002))).toThrow('answer: has more than 1000000 values');
  expect(() => parse(`[${'{},'.repeat(700_000)}{}]`)).toThrow('more than 1000000 values');
});

test('anything else is a ParseError', () => {
  for (const text of ['', '{"a":', '"', '"\\', '<html>', '[1,]']) expect(() => parse(text)).toThrow(ParseError);
});

test('members keep their texts, whatever quotation marks they have', () => {
  const members = { 'a"b': '\\', '\\': '"', 'c\\"': 'x"y', '': '' };
  const read = membersOf(JSON.stringify(members)).map(([name, source]) => [name, JSON.parse(source) as unknown]);
  expect(read).toEqual(Object.entries(members));
});
