import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { encodeExactJson, parseExactJson } from '../../../../src/pchain/codec/exact-json.ts';

const parse = (text: string): unknown => parseExactJson(text, 'test');

test('every digit of every integer is kept, in both directions', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
      const isSafe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
      expect(parse(`{"a":[${value}]}`)).toEqual({ a: [isSafe ? Number(value) : value] });
      expect(encodeExactJson({ a: [value] })).toBe(`{"a":[${value}]}`);
    }),
  );
});

test('everything else is parsed like JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const parsed = parse(text);
      expect(encodeExactJson(parsed)).toBe(text);
      // Integers beyond 2^53 are the one difference.
      if (!/\d{16}/.test(text)) expect(parsed).toEqual(JSON.parse(text));
    }),
  );
});

test.each([
  ['nothing', ''],
  ['half an object', '{"a":'],
  ['a page', '<html><body>502 Bad Gateway</body></html>'],
  ['a nesting too deep to walk', `${'['.repeat(100_000)}${2n ** 64n}${']'.repeat(100_000)}`],
  ['an integer of more digits than 2^256', `[${'9'.repeat(79)}]`],
])('%s is refused with a ParseError', (_what, text) => {
  expect(() => parse(text)).toThrow(ParseError);
});

test('integers have up to 78 digits', () => {
  const greatest = BigInt('9'.repeat(78));
  expect(parse(`[ ${greatest},-${'9'.repeat(77)}]`)).toEqual([greatest, -BigInt('9'.repeat(77))]);
});

test.each([
  '18446744073709551615',
  '[1,18446744073709551615]',
  '{"a":\n-18446744073709551615}',
  '["18446744073709551615",18446744073709551615,1.5]',
])('the long integer of %s is found', (text) => {
  expect(encodeExactJson(parse(text))).toBe(text.replace('\n', ''));
});

test('any text has a value or a ParseError', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(() => attempt(() => parse(text))).not.toThrow();
    }),
  );
});
