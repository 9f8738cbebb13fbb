import { describe, expect, inject, test } from 'vitest';
import { behavioursOf, type FaultWorld, outcomesOf, startFaultWorld } from './fault-world.ts';
import { MISBEHAVIOURS, type Misbehaviours, misbehaviourFromSeed } from './misbehaviour.ts';

/** To replay one: `npm run test:faults -- -t 'seed 17$'`. */
const SEEDS = Array.from({ length: inject('faultSeeds') }, (_, seed) => seed);
const HOPELESS_SEEDS = Array.from({ length: inject('hopelessFaultSeeds') }, (_, i) => 10 * i);
const QUORUM = 67;
/** Largest share that a quorum of 67 tolerates. */
const LARGEST_SHARE = 0.33;
/** Leaves no quorum, while most validators still answer. */
const HOPELESS_SHARE = 0.5;
/** Time limit of a failure. */
const CLEAR_FAILURE_MS = 6_000;
const TIMEOUT_MS = 60_000;
/** Misbehaviours that never end in a signature. */
const FOR_EVER = MISBEHAVIOURS.filter(({ mayYetSign }) => !mayYetSign);

/** Starts the misbehaviour before the service for even seeds, and after it is connected for odd ones. */
async function startMisbehaving(seed: number, draw: (validators: FaultWorld['validators']) => Misbehaviours) {
  let drawn: Misbehaviours = new Map();
  const isFromTheStart = seed % 2 === 0;
  const world = await startFaultWorld((validators) => {
    drawn = draw(validators);
    return isFromTheStart ? behavioursOf(drawn) : new Map();
  });
  if (!isFromTheStart) world.misbehave(behavioursOf(drawn));
  const described = [...drawn].map(([index, { name }]) => `${index} ${name}`).join(', ');
  return { world, describe: `with seed ${seed} these misbehave: ${described}` };
}

// A run mostly waits for timeouts, so several run concurrently.
describe.concurrent('up to 33 % of the weight misbehaves', { timeout: TIMEOUT_MS }, () => {
  test.for(SEEDS)('every message is signed: seed %i', async (seed) => {
    const { world, describe: described } = await startMisbehaving(seed, (validators) =>
      misbehaviourFromSeed(seed, validators, LARGEST_SHARE),
    );
    await using running = world;
    // One alone, then two concurrent ones, then one with the history of the others.
    const first = await running.ask(QUORUM);
    const stalled = `the longest stall was ${running.longestStallMs()} ms`;
    expect(first.status, `${described}; ${stalled}: ${JSON.stringify(first.body)}`).toBe(201);
    await running.expectSigned(first, QUORUM, described);
    for (const answer of await Promise.all([running.ask(QUORUM), running.ask(QUORUM)])) {
      await running.expectSigned(answer, QUORUM, described);
    }
    await running.expectSigned(await running.ask(QUORUM), QUORUM, described);
  });
});

describe.concurrent('half of the weight misbehaves for good', { timeout: TIMEOUT_MS }, () => {
  test.for(HOPELESS_SEEDS)('nothing is signed, and the answer says why: hopeless seed %i', async (seed) => {
    // An odd seed: otherwise the service would not become ready.
    const { world, describe: described } = await startMisbehaving(2 * seed + 1, (validators) =>
      misbehaviourFromSeed(seed, validators, HOPELESS_SHARE, FOR_EVER),
    );
    await using running = world;
    const answer = await running.ask(QUORUM);
    expect([400, 500, 503], `${described}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
    expect(answer.tookMs, described).toBeLessThan(CLEAR_FAILURE_MS);
    const weightOf = (isWanted: (name: string) => boolean): bigint =>
      outcomesOf(answer).reduce((sum, { name, weight }) => (isWanted(name) ? sum + weight : sum), 0n);
    expect(
      weightOf(() => true),
      described,
    ).toBe(running.totalWeight);
    expect(weightOf((name) => name !== 'signed') * 100n, described).toBeGreaterThan(33n * running.totalWeight);
    // Half of the weight is enough for a smaller quorum.
    const small = await running.ask(40);
    await running.expectSigned(small, 40, described);
  });
});
