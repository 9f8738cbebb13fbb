import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { encodeExactJson, parseExactJson } from '../../../../src/pchain/codec/exact-json.ts';

describe('exact JSON', () => {
  it('keeps every digit of every integer, in both directions', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
        const parsed = parseExactJson(`{"a":[${value}]}`, 'test') as { a: [number | bigint] };
        const isSafe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
        expect(parsed).toEqual({ a: [isSafe ? Number(value) : value] });
        expect(encodeExactJson({ a: [value] })).toBe(`{"a":[${value}]}`);
      }),
    );
  });

  it('parses everything else like JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const parsed = parseExactJson(text, 'test');
        expect(encodeExactJson(parsed)).toBe(text);
        // Integers beyond 2^53 are the one difference.
        if (!/\d{16}/.test(text)) expect(parsed).toEqual(JSON.parse(text));
      }),
    );
  });

  it('does not change digits in strings and fractions', () => {
    expect(parseExactJson('["18446744073709551615", 1.5, 1e300, -0.25]', 'test')).toEqual([
      '18446744073709551615',
      1.5,
      1e300,
      -0.25,
    ]);
  });

  it.each([
    ['nothing', ''],
    ['half an object', '{"a":'],
    ['a page', '<html><body>502 Bad Gateway</body></html>'],
    ['a nesting too deep to walk', `${'['.repeat(1_000_000)}${2n ** 64n}${']'.repeat(1_000_000)}`],
    ['an integer of more digits than 2^256', `[${'9'.repeat(79)}]`],
    ['an integer of a hundred thousand digits', `{"a":-${'9'.repeat(100_000)}}`],
  ])('refuses %s with its own error', (_what, text) => {
    expect(() => parseExactJson(text, 'response')).toThrow(ParseError);
  });

  it('accepts integers of up to 78 digits', () => {
    const greatest = BigInt('9'.repeat(78));
    expect(parseExactJson(`[ ${greatest},-${'9'.repeat(77)}]`, 'test')).toEqual([greatest, -BigInt('9'.repeat(77))]);
  });

  it.each([
    ['short integers', '{"a":[1,-2,123456789012345],"b":9007199254740}'],
    ['digits in texts', `{"weight":"18446744073709551615","key":"0x${'12345678'.repeat(12)}","b":[true,null]}`],
    ['fractions', '[0.12345678901234567890,1e300]'],
  ])('walks no values where there are only %s', (_what, text) => {
    const parse = vi.spyOn(JSON, 'parse');
    parseExactJson(text, 'test');
    expect(parse.mock.calls).toEqual([[text]]);
    parse.mockRestore();
  });

  it.each([
    '18446744073709551615',
    '[18446744073709551615]',
    '{"a":\n-18446744073709551615}',
    '[1,18446744073709551615]',
  ])('finds the long integer of %s', (text) => {
    expect(encodeExactJson(parseExactJson(text, 'test'))).toBe(text.replace('\n', ''));
  });

  it('returns a value or a ParseError for any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseExactJson(text, 'test');
        } catch (error) {
          expect(error).toBeInstanceOf(ParseError);
        }
      }),
    );
  });
});
