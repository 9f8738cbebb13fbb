import { describe, expect, inject, test } from 'vitest';
import { MISBEHAVIOURS, type Misbehaviours, misbehaviourFromSeed } from '../../src/devnet/misbehaviour.ts';
import { behavioursOf, type FaultWorld, startFaultWorld, type TimedAnswer } from './fault-world.ts';

/** To replay one: `npm run test:faults -- -t 'seed 17$'`. */
const SEEDS = Array.from({ length: inject('faultSeeds') }, (_, seed) => seed);
const QUORUM = 67;
/** What a quorum of 67 can do without. */
const LARGEST_SHARE = 0.33;
/** Far from what it can do without, and yet many validators are left. */
const TOO_LARGE_SHARE = 0.55;
/** Where the validators answer. */
const CLEAR_FAILURE_MS = 6_000;
const TIMEOUT_MS = 60_000;
/** Of these no signature comes, however long one waits. */
const FOR_EVER = MISBEHAVIOURS.filter(({ mayYetSign }) => !mayYetSign);

/** Starts a network of which some misbehave: with even seeds from the start, with odd ones once all are connected. */
async function startMisbehaving(seed: number, draw: (world: FaultWorld['validators']) => Misbehaviours) {
  let drawn: Misbehaviours = new Map();
  const world = await startFaultWorld((validators) => {
    drawn = draw(validators);
    return seed % 2 === 0 ? behavioursOf(drawn) : new Map();
  });
  if (seed % 2 === 1) world.misbehave(behavioursOf(drawn));
  return { world, described: [...drawn].map(([index, { name }]) => `${index}: ${name}`).join(', ') };
}

// Most of a run is waiting until a fault counts as one, so several wait at the same time.
describe.concurrent('up to 33 % of the weight misbehaves', { timeout: TIMEOUT_MS }, () => {
  test.for(SEEDS)('seed %i', async (seed) => {
    const { world, described } = await startMisbehaving(seed, (validators) =>
      misbehaviourFromSeed(seed, validators, LARGEST_SHARE),
    );
    await using service = world;
    try {
      // One alone, then several side by side, which share connections, then one that knows how the others went.
      await service.expectSigned(await service.ask(QUORUM), QUORUM);
      const together = await Promise.all([service.ask(QUORUM), service.ask(QUORUM)]);
      for (const answer of together) await service.expectSigned(answer, QUORUM);
      await service.expectSigned(await service.ask(QUORUM), QUORUM);
    } catch (cause) {
      throw new Error(`seed ${seed}, where these misbehave: ${described}`, { cause });
    }
  });
});
