import { describe, inject, test } from 'vitest';
import { behavioursOf, startFaultWorld } from './fault-world.ts';
import { type Misbehaviours, misbehaviourFromSeed } from './misbehaviour.ts';

/** To replay one: `npm run test:faults -- -t 'seed 17$'`. */
const SEEDS = Array.from({ length: inject('faultSeeds') }, (_, seed) => seed);
const QUORUM = 67;
/** Largest share that a quorum of 67 tolerates. */
const LARGEST_SHARE = 0.33;
const TIMEOUT_MS = 60_000;

// A run mostly waits for timeouts, so several run concurrently.
describe.concurrent('up to 33 % of the weight misbehaves', { timeout: TIMEOUT_MS }, () => {
  test.for(SEEDS)('every message is signed: seed %i', async (seed) => {
    // Before the service starts for even seeds, and after it is connected for odd ones.
    const isFromTheStart = seed % 2 === 0;
    let drawn: Misbehaviours = new Map();
    await using world = await startFaultWorld((validators) => {
      drawn = misbehaviourFromSeed(seed, validators, LARGEST_SHARE);
      return isFromTheStart ? behavioursOf(drawn) : new Map();
    });
    if (!isFromTheStart) world.misbehave(behavioursOf(drawn));
    const described = `these misbehave: ${[...drawn].map(([index, { name }]) => `${index} ${name}`).join(', ')}`;
    // One alone, then two concurrent ones, then one with the history of the others.
    world.expectSigned(await world.ask(QUORUM), QUORUM, described);
    for (const answer of await Promise.all([world.ask(QUORUM), world.ask(QUORUM)]))
      world.expectSigned(answer, QUORUM, described);
    world.expectSigned(await world.ask(QUORUM), QUORUM, described);
  });
});
