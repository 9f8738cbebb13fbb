import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, nearestName } from '../../../../src/lib/encoding/nearest-name.ts';

test('one letter inserted, deleted, replaced or swapped is one edit', () => {
  const edit = fc.constantFrom('insert', 'delete', 'replace', 'swap');
  fc.assert(
    fc.property(
      fc.string({ minLength: 2, maxLength: 12 }),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 1 }),
      edit,
      (text, at, letter, kind) => {
        const index = at % (text.length - 1);
        const [before, here, next, after] = [text.slice(0, index), text[index], text[index + 1], text.slice(index + 2)];
        const edited = {
          insert: `${before}${letter}${here}${next}${after}`,
          delete: `${before}${next}${after}`,
          replace: `${before}${letter}${next}${after}`,
          swap: `${before}${next}${here}${after}`,
        }[kind];
        expect(editDistance(text, edited)).toBe(edited === text ? 0 : 1);
      },
    ),
  );
});

test('the nearest name is the first with the least distance, within a bound', () => {
  const known = ['host', 'port', 'corsOrigins', 'shutdownTimeoutMs'];
  expect(nearestName('prot', known)).toBe('port');
  expect(nearestName('PORT', known)).toBe('port');
  expect(nearestName('corsOrigin', known)).toBe('corsOrigins');
  expect(nearestName('shutdownTimeout', known)).toBe('shutdownTimeoutMs');
  expect(nearestName('hort', known)).toBe('host');
  expect(nearestName('logLevel', known)).toBeUndefined();
  expect(nearestName('', known)).toBeUndefined();
  expect(nearestName('x'.repeat(1_000_000), known)).toBeUndefined();
});
