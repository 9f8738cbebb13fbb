import { describe, expect, inject, test } from 'vitest';
import { behavioursOf, type FaultWorld, outcomesOf, startFaultWorld } from './fault-world.ts';
import { MISBEHAVIOURS, type Misbehaviours, misbehaviourFromSeed } from './misbehaviour.ts';

/** To replay one: `npm run test:faults -- -t 'seed 17$'`. */
const SEEDS = Array.from({ length: inject('faultSeeds') }, (_, seed) => seed);
const HOPELESS_SEEDS = Array.from({ length: inject('hopelessFaultSeeds') }, (_, i) => 10 * i);
const QUORUM = 67;
/** What a quorum of 67 can do without. */
const LARGEST_SHARE = 0.33;
/** So much that no quorum is left, and so little that most validators still answer. */
const HOPELESS_SHARE = 0.5;
/** A failure has to be clear by then, where the validators answer. */
const CLEAR_FAILURE_MS = 6_000;
const TIMEOUT_MS = 60_000;
/** Of these no signature comes, however long one waits. */
const FOR_EVER = MISBEHAVIOURS.filter(({ mayYetSign }) => !mayYetSign);

/** What the drawn ones do begins before there is a service with even seeds, and once it is connected with odd ones. */
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

// Most of a run is waiting until a fault counts as one, so several wait at the same time.
describe.concurrent('up to 33 % of the weight misbehaves', { timeout: TIMEOUT_MS }, () => {
  test.for(SEEDS)('every message is signed: seed %i', async (seed) => {
    const { world, describe: described } = await startMisbehaving(seed, (validators) =>
      misbehaviourFromSeed(seed, validators, LARGEST_SHARE),
    );
    await using running = world;
    // One alone, then two side by side, which share connections, then one that knows how the others went.
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
    // Too little weight is connected for the service to be ready where they do so from the start.
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
    // Half of the weight is there all the same.
    const small = await running.ask(40);
    await running.expectSigned(small, 40, described);
  });
});
