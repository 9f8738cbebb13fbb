import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isQuorumReached, quorumWeight } from '../../../src/validators/quorum.ts';

const MAX_U64 = 2n ** 64n - 1n;
const quorumNum = fc.oneof(fc.bigInt({ min: 0n, max: 100n }), fc.constantFrom(0n, 1n, 33n, 67n, 80n, 99n, 100n));
const totalWeight = fc.oneof(
  fc.bigInt({ min: 0n, max: 1000n }),
  fc.bigInt({ min: 0n, max: MAX_U64 }),
  fc.bigInt({ min: MAX_U64 - 200n, max: MAX_U64 }),
);

test('a weight reaches the quorum exactly from the quorum weight on', () => {
  fc.assert(
    fc.property(quorumNum, totalWeight, fc.bigInt({ min: 0n, max: MAX_U64 }), (quorum, total, signed) => {
      const least = quorumWeight(quorum, total);
      expect(least >= 0n && least <= total).toBe(true);
      for (const weight of [least, least - 1n, signed]) {
        expect(isQuorumReached(quorum, weight, total)).toBe(weight >= least);
      }
    }),
    { numRuns: 1000 },
  );
});

test('weights computed by hand', () => {
  for (const [quorum, total, least] of [
    [67n, 1200n, 804n],
    [67n, 1201n, 805n],
    [67n, 3n, 3n],
    [66n, 3n, 2n],
    [0n, 1200n, 0n],
    [100n, 1200n, 1200n],
    // 0.67 × (2^64 − 1) = 12359318529385399582.05: a double would be off by up to 1,024 here.
    [67n, MAX_U64, 12_359_318_529_385_399_583n],
    [67n, 0n, 0n],
  ] as const) {
    expect(quorumWeight(quorum, total)).toBe(least);
    expect([least, least - 1n].map((weight) => isQuorumReached(quorum, weight, total))).toEqual([true, false]);
  }
});
