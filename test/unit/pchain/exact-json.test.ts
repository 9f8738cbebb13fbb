import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeExactJson, parseExactJson } from '../../../src/pchain/exact-json.ts';
import { ParseError } from '../../../src/primitives/parse-error.ts';

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

  it('treats all else as JSON does', () => {
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

  it('leaves digits in strings and fractions alone', () => {
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
    ['a nesting too deep to walk', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
  ])('refuses %s with its own error', (_what, text) => {
    expect(() => parseExactJson(text, 'response')).toThrow(ParseError);
  });

  it('gives a value or its own error for any text', () => {
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
