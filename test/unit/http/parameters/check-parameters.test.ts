import fc from 'fast-check';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { HttpError } from '../../../../src/http/errors/http-error.ts';
import { checkParameters, compareDecimals } from '../../../../src/http/parameters/check-parameters.ts';

const SCHEMA = Type.Object({
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  share: Type.Optional(Type.Number({ minimum: 2, maximum: 100 })),
  height: Type.Optional(Type.Integer({ minimum: 0 })),
  block: Type.Optional(Type.Number({ minimum: 0 })),
});

function problemOf(values: Record<string, string>): string | undefined {
  try {
    checkParameters(SCHEMA, values);
    return undefined;
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return error.message;
  }
}

test('a list may have as many values as are allowed, in one parameter or several', () => {
  const schema = Type.Object({ ids: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 3 })) });
  for (const ids of ['a,b,c', ['a', 'b,c']]) expect(() => checkParameters(schema, { ids })).not.toThrow();
  for (const ids of ['a,b,c,d', ['a', 'b,c', 'd']]) {
    expect(() => checkParameters(schema, { ids })).toThrow('ids has 4 values, at most 3 are allowed');
  }
});

test('a range check uses all digits', () => {
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
  '%j is no number',
  (text) => {
    expect(problemOf({ share: text })).toBe('share must be a number from 2 to 100');
    expect(problemOf({ size: text })).toBe('size must be an integer from 1 to 100');
  },
);

test('a number without a maximum may be one that JSON holds exactly', () => {
  for (const text of ['0', '9007199254740991']) {
    expect([problemOf({ height: text }), problemOf({ block: text })]).toEqual([undefined, undefined]);
  }
  expect(problemOf({ block: '7.5' })).toBeUndefined();
  expect(problemOf({ height: '7.5' })).toBe('height must be an integer from 0 to 9007199254740991');
  for (const text of ['9007199254740992', '1'.repeat(21), '-1', '007', '']) {
    expect(problemOf({ height: text })).toBe('height must be an integer from 0 to 9007199254740991');
    expect(problemOf({ block: text })).toBe('block must be a number from 0 to 9007199254740991');
  }
});

test('decimals are compared by all digits', () => {
  const whole = fc.bigInt({ min: 0n, max: 10n ** 20n - 1n });
  const fraction = fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), maxLength: 25 });
  const decimal = fc.tuple(whole, fraction).map(([integer, digits]) => ({
    text: digits === '' ? String(integer) : `${integer}.${digits}`,
    scaled: BigInt(`${integer}${digits.padEnd(25, '0')}`),
  }));
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      expect(Math.sign(compareDecimals(a.text, b.text))).toBe(a.scaled === b.scaled ? 0 : a.scaled < b.scaled ? -1 : 1);
    }),
  );
});
