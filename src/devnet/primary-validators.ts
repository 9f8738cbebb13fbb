import type { Random } from '../lib/concurrency/clock.ts';
import type { Validator } from '../validators/validator.ts';
import type { NodeID } from '../warp/ids.ts';
import { createSeededRandom } from './seeded-random.ts';

/** In nAVAX: of public networks' size, so that their sums are far beyond 2^53. */
const MIN_STAKE = 500_000n * 10n ** 9n;
const MAX_STAKE = 3_000_000n * 10n ** 9n;

/** @param keyless those that registered no BLS key */
export function createPrimaryValidators(
  seed: number,
  primaryNodes: readonly Omit<Validator, 'weight'>[],
  keyless: ReadonlySet<NodeID> = new Set(),
): Validator[] {
  const stakes = unevenStakes(primaryNodes.length, createSeededRandom(seed));
  return primaryNodes.map(({ nodeID, publicKey }, index) => ({
    nodeID,
    publicKey: keyless.has(nodeID) ? undefined : publicKey,
    weight: stakes[index] ?? MIN_STAKE,
  }));
}

/**
 * Spread evenly between the smallest and the largest stake, in random order, down to the last nAVAX. Of five or more validators
 * none has a third of the weight: without any one of them two thirds can still be reached.
 */
function unevenStakes(count: number, random: Random): bigint[] {
  const step = (MAX_STAKE - MIN_STAKE) / BigInt(count);
  const stakes = Array.from(
    { length: count },
    (_, index) => MIN_STAKE + step * BigInt(index) + step / 2n + BigInt(Math.floor(random() * 1e9)),
  );
  return stakes
    .map((stake) => ({ stake, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ stake }) => stake);
}
