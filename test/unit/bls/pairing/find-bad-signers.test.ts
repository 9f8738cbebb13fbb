import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PublicKey, Signature } from '../../../../src/bls/backends/bls-backend.ts';
import { findBadSigners } from '../../../../src/bls/pairing/find-bad-signers.ts';
import { createModelSigner, modelBackend } from '../backends/model-backend.ts';

const MESSAGE = Uint8Array.of(1, 2, 3);
const HASHED = modelBackend.hashToCurve(MESSAGE);
const never = new AbortController().signal;

/** Each signer's signature is off by its error; 0n is a good one. */
function contributionsWith(errors: readonly bigint[], firstSecret = 1_000n): Contribution[] {
  return errors.map((error, position) => {
    const signer = createModelSigner(firstSecret + BigInt(position) ** 2n);
    return {
      publicKey: modelBackend.parsePublicKey(signer.publicKey),
      signature: modelBackend.parseSignature(signer.sign(MESSAGE, error)),
    };
  });
}

function verifies(contributions: readonly Contribution[]): boolean {
  return modelBackend.verify(
    modelBackend.aggregatePublicKeys(contributions.map(({ publicKey }) => publicKey)),
    HASHED,
    modelBackend.aggregateSignatures(contributions.map(({ signature }) => signature)),
  );
}

interface Contribution {
  readonly publicKey: PublicKey;
  readonly signature: Signature;
}

/** The search, and how many checks it took. */
async function search(contributions: readonly Contribution[], signal = never, onCheck = (_checks: number) => {}) {
  let checks = 0;
  const found = await findBadSigners(
    { start: 0, end: contributions.length },
    async (parts) => {
      checks += 1;
      onCheck(checks);
      return verifies(parts.flatMap(({ start, end }) => contributions.slice(start, end)));
    },
    signal,
  );
  return { ...found, checks };
}

/** Errors that do not cancel: distinct powers of two have distinct sums. */
const independentErrors = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 40 })
  .filter((bad) => bad.includes(true))
  .map((bad) => bad.map((isBad, position) => (isBad ? 2n ** BigInt(position) : 0n)));

test('after the signal, the one that alone can be invalid is found', async () => {
  const ended = new AbortController();
  const found = await search(contributionsWith([1n, 2n]), ended.signal, (checks) => checks === 2 && ended.abort());
  expect(found).toEqual({ bad: [0, 1], uncleared: [], checks: 2 });
});

test('finds exactly the invalid signers, in about k · log2(n) checks', async () => {
  await fc.assert(
    fc.asyncProperty(independentErrors, async (errors) => {
      const expected = errors.flatMap((error, position) => (error === 0n ? [] : [position]));
      const { bad, uncleared, checks } = await search(contributionsWith(errors));
      expect(bad).toEqual(expected);
      expect(uncleared).toEqual([]);
      const depth = Math.ceil(Math.log2(errors.length));
      expect(checks).toBeLessThanOrEqual(Math.min(2 * expected.length * depth + depth, 3 * (errors.length - 1)));
    }),
    { numRuns: 300 },
  );
});

test('where errors cancel, what is left verifies, and no honest signer is blamed', async () => {
  // Small errors of either sign: many sums are 0.
  const errors = fc.array(fc.bigInt({ min: -2n, max: 2n }), { minLength: 1, maxLength: 16 });
  await fc.assert(
    fc.asyncProperty(errors, async (errors) => {
      const contributions = contributionsWith(errors);
      fc.pre(!verifies(contributions));
      const { bad } = await search(contributions);
      expect(bad.length).toBeGreaterThan(0);
      for (const position of bad) expect(errors[position]).not.toBe(0n);
      const left = contributions.filter((_, position) => !bad.includes(position));
      expect(left.length === 0 || verifies(left)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('one owner of a key and its opposite: search after search ends with signers that verify', async () => {
  // k, x and −k: the halves of x are good on their own, and their sum is infinity.
  const [one, other] = [createModelSigner(77n), createModelSigner(-77n)];
  const all = [one, createModelSigner(5n), other].map((signer, position) => ({
    publicKey: modelBackend.parsePublicKey(signer.publicKey),
    signature: modelBackend.parseSignature(signer.sign(MESSAGE, position === 1 ? 1n : 0n)),
  }));
  let left = all;
  for (let round = 0; !verifies(left); round += 1) {
    expect(round).toBeLessThan(3);
    const { bad } = await search(left);
    left = left.filter((_, position) => !bad.includes(position));
  }
  expect(left.length).toBeGreaterThan(0);
});

test('a search that runs out of time names whom it could not clear, and what is left verifies', async () => {
  await fc.assert(
    fc.asyncProperty(independentErrors, fc.nat(30), async (errors, checksInTime) => {
      const contributions = contributionsWith(errors);
      const time = new AbortController();
      if (checksInTime === 0) time.abort();
      const { bad, uncleared, checks } = await search(contributions, time.signal, (checks) => {
        if (checks === checksInTime) time.abort();
      });
      // The pair of checks that is on when time runs out is finished.
      expect(checks).toBeLessThanOrEqual(checksInTime + 1);
      const putAside = [...bad, ...uncleared].toSorted((a, b) => a - b);
      expect(new Set(putAside).size).toBe(putAside.length);
      for (const position of bad) expect(errors[position]).not.toBe(0n);
      expect(errors.every((error, position) => error === 0n || putAside.includes(position))).toBe(true);
      const left = contributions.filter((_, position) => !putAside.includes(position));
      expect(left.length === 0 || verifies(left)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
