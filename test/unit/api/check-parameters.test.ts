import fc from 'fast-check';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { checkParameters } from '../../../src/api/check-parameters.ts';
import { BadRequest } from '../../../src/api/error-handler.ts';

const SCHEMA = Type.Object({
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  share: Type.Optional(Type.Number({ minimum: 2, maximum: 100 })),
});

function problemOf(values: Record<string, string>): string | undefined {
  try {
    checkParameters(SCHEMA, values);
    return undefined;
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    return error.message;
  }
}

test('a number is in range by all of its digits', () => {
  const decimals = fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 110 }), decimals, (whole, fraction) => {
      // By integers: a double would round the fraction to one.
      const scaled = BigInt(`${whole}${fraction}`);
      const unit = 10n ** BigInt(fraction.length);
      const isWithin = scaled >= 2n * unit && scaled <= 100n * unit;
      expect(problemOf({ share: `${whole}.${fraction}` })).toBe(
        isWithin ? undefined : 'share must be a number from 2 to 100',
      );
      expect(problemOf({ size: `${whole}.${fraction}` })).toBe('size must be an integer from 1 to 100');
      expect(problemOf({ size: String(whole) })).toBe(
        whole >= 1 && whole <= 100 ? undefined : 'size must be an integer from 1 to 100',
      );
    }),
  );
});

test.each(['', ' 7', '7 ', '+7', '-7', '07', '7.', '.7', '7e0', '0x7', '7n', '1_0', '7,0', '٧', 'Infinity', 'NaN'])(
  'no number is written as %j',
  (text) => {
    expect(problemOf({ share: text })).toBe('share must be a number from 2 to 100');
    expect(problemOf({ size: text })).toBe('size must be an integer from 1 to 100');
  },
);
