import type { BlsBackend, HashedMessage, PublicKey, Signature } from './bls-backend.ts';

/** One signer's part of an aggregate. */
export interface Contribution {
  readonly publicKey: PublicKey;
  readonly signature: Signature;
}

/**
 * Positions of contributions that spoil an aggregate known not to verify, by bisection: k bad ones among n cost about
 * k · log2(n) checks where one each would cost n. A half whose sum verifies is good for this aggregate; it does not prove
 * each of its signatures, since in an unweighted sum the errors of colluders cancel.
 *
 * What is left without the positions returned verifies as an aggregate: each part of it did, and pairings add up. `yieldTurn`
 * is awaited between checks, so that a search does not hold up the event loop.
 */
export async function findBadSigners(
  backend: BlsBackend,
  message: HashedMessage,
  contributions: readonly Contribution[],
  yieldTurn: () => Promise<void>,
): Promise<number[]> {
  const bad: number[] = [];
  /** Ranges [start, end) that are known to fail. */
  const failing: Array<readonly [number, number]> = [[0, contributions.length]];
  for (let range = failing.pop(); range !== undefined; range = failing.pop()) {
    const [start, end] = range;
    if (end - start === 1) {
      bad.push(start);
      continue;
    }
    const middle = (start + end) >> 1;
    const leftFails = !(await verifies(start, middle));
    // Where the left half is good, the error of the whole is in the right half, and need not be looked for.
    const rightFails = !leftFails || !(await verifies(middle, end));
    if (rightFails) failing.push([middle, end]);
    if (leftFails) failing.push([start, middle]);
  }
  return bad.toSorted((a, b) => a - b);

  async function verifies(start: number, end: number): Promise<boolean> {
    await yieldTurn();
    const part = contributions.slice(start, end);
    return backend.verify(
      backend.aggregatePublicKeys(part.map(({ publicKey }) => publicKey)),
      message,
      backend.aggregateSignatures(part.map(({ signature }) => signature)),
    );
  }
}
