import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../devnet/behaviour.ts';
import { behavioursOf, outcomesOf, startFaultWorld } from './fault-world.ts';
import { MISBEHAVIOURS, misbehaviourFromSeed } from './misbehaviour.ts';

const SEED = 1;
const TIMEOUT_MS = 60_000;

/** Its outcome, with the reason of a timeout, where all of the weight is asked for. */
function outcomeOf({ kind }: Behaviour): string {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others are out of reach
  switch (kind) {
    case 'silent':
      return 'timed_out: request_dropped';
    case 'refusing':
      return 'refused';
    case 'wrong signature':
    case 'foreign signature':
    case 'random signature':
    case 'garbage signature':
    case 'infinity':
    case 'off subgroup':
      return 'invalid_signature';
    case 'unfinished frame':
    case 'trickling':
    case 'frozen':
      return 'timed_out: no_answer';
    default:
      return 'unreachable';
  }
}

describe.concurrent('a third of the weight misbehaves in one way', { timeout: TIMEOUT_MS }, () => {
  test.for(MISBEHAVIOURS)('$name: the others sign', async (misbehaviour) => {
    await using world = await startFaultWorld();
    const drawn = misbehaviourFromSeed(SEED, world.validators, 0.33, [misbehaviour]);
    world.misbehave(behavioursOf(drawn));
    for (let round = 0; round < 2; round += 1) await world.expectSigned(await world.ask(67), 67);
    if (misbehaviour.mayYetSign) return;
    const answer = await world.ask(100);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    const [first] = drawn.values();
    const failures = outcomesOf(answer).filter(
      ({ name }) => !['signed', 'timed_out: request_ended', 'not_asked'].includes(name),
    );
    expect(failures.map(({ name }) => name)).toEqual(first && [outcomeOf(first.behaviour)]);
  });
});
