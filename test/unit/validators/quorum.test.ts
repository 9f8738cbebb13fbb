import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isQuorumReached, quorumWeight } from '../../../src/validators/quorum.ts';
import { readCases } from '../../vectors/vectors.ts';

const MAX_U64 = 2n ** 64n - 1n;
const quorumNum = fc.oneof(fc.bigInt({ min: 0n, max: 100n }), fc.constantFrom(0n, 1n, 33n, 67n, 80n, 99n, 100n));
const totalWeight = fc.oneof(
  fc.bigInt({ min: 0n, max: 1000n }),
  fc.bigInt({ min: 0n, max: MAX_U64 }),
  fc.bigInt({ min: MAX_U64 - 200n, max: MAX_U64 }),
);

test('the quorum weight is the least one that reaches', () => {
  fc.assert(
    fc.property(quorumNum, totalWeight, (quorum, total) => {
      const least = quorumWeight(quorum, total);
      expect(isQuorumReached(quorum, least, total)).toBe(true);
      expect(isQuorumReached(quorum, least - 1n, total)).toBe(false);
      expect(least >= 0n && least <= total).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test('more weight never loses a quorum, and a higher quorum is never easier', () => {
  fc.assert(
    fc.property(quorumNum, totalWeight, fc.bigInt({ min: 0n, max: MAX_U64 }), (quorum, total, signed) => {
      const reached = isQuorumReached(quorum, signed, total);
      if (reached) expect(isQuorumReached(quorum, signed + 1n, total)).toBe(true);
      else expect(isQuorumReached(quorum + 1n, signed, total)).toBe(false);
      expect(reached).toBe(signed >= quorumWeight(quorum, total));
    }),
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

test('what the reference signed reached its quorum', () => {
  for (const { name, quorum, totalWeight: total, signed, canonicalValidators } of readCases()) {
    if (signed === undefined) continue;
    const weight = signed.signerIndices.reduce((sum, index) => sum + (canonicalValidators[index]?.weight ?? 0n), 0n);
    expect(weight, name).toBe(signed.signerWeight);
    // 0 stands for "none given", which is 67.
    expect(isQuorumReached(BigInt(quorum || 67), weight, total), name).toBe(true);
  }
});

test('the inactive validator of l1_warp_q100_inactive keeps 100 % out of reach', () => {
  const vector = readCases().find(({ name }) => name === 'l1_warp_q100_inactive');
  const signable = vector?.canonicalValidators.reduce((sum, { weight }) => sum + weight, 0n) ?? 0n;
  expect(isQuorumReached(100n, signable, vector?.totalWeight ?? 0n)).toBe(false);
  expect(isQuorumReached(91n, signable, vector?.totalWeight ?? 0n)).toBe(true);
});
