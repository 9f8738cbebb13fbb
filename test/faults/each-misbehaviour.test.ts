import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../devnet/behaviour.ts';
import type { Answer } from '../integration/service/running-service.ts';
import { behavioursOf, type FaultWorld, startFaultWorld } from './fault-world.ts';
import { MISBEHAVIOURS, type Misbehaviour, misbehaviourFromSeed, type WeightedIndex } from './misbehaviour.ts';

const SEED = 1;
const TIMEOUT_MS = 60_000;
/** Less than the defaults, as most of the time is spent in waiting for those that do not answer. */
const SETTINGS = {
  aggregation: { requestTimeoutMs: 8_000 },
  limits: { aggregation: { peerTimeoutMs: 1_500, connectTimeoutMs: 2_000 } },
};
/** Outcomes of validators that a failed request did not need any more. */
const UNDECIDED = ['signed', 'timed_out: request_ended', 'not_asked'];

/** The outcome, with the reason of a timeout, if all of the weight is asked for. */
const OUTCOMES: Partial<Record<Behaviour['kind'], string>> = {
  silent: 'timed_out: request_dropped',
  refusing: 'refused',
  'wrong signature': 'invalid_signature',
  'foreign signature': 'invalid_signature',
  'random signature': 'invalid_signature',
  'garbage signature': 'invalid_signature',
  infinity: 'invalid_signature',
  'off subgroup': 'invalid_signature',
  'unfinished frame': 'timed_out: no_answer',
  trickling: 'timed_out: no_answer',
  frozen: 'timed_out: no_answer',
};

/** These leave their connection as it is, so that another third can misbehave after them in the same world. */
const KEEPS_CONNECTION: ReadonlySet<Behaviour['kind']> = new Set([
  'silent',
  'slow',
  'lagging',
  'executing late',
  'refusing',
  'wrong signature',
  'foreign signature',
  'random signature',
  'garbage signature',
  'infinity',
  'off subgroup',
  'colluding',
  'answering twice',
  'misnumbering',
  'unasked',
] as Behaviour['kind'][]);

const isOfAnswers = ({ create }: Misbehaviour): boolean => KEEPS_CONNECTION.has(create(() => 0).kind);
const ofAnswers = MISBEHAVIOURS.filter(isOfAnswers);
const ofConnections = MISBEHAVIOURS.filter((misbehaviour) => !isOfAnswers(misbehaviour));
const PAIRS = Array.from({ length: Math.max(ofAnswers.length, ofConnections.length) }, (_, index) =>
  [ofAnswers[index], ofConnections[index]].filter((misbehaviour) => misbehaviour !== undefined),
);

/** The outcomes in the details of a failure, without those of no validator; each reason of `timed_out` separately. */
function outcomesOf({ body }: Answer): string[] {
  const { outcomes } = body['details'] as {
    outcomes: Record<string, { count: number; reasons?: { reason: string }[] }>;
  };
  return Object.entries(outcomes).flatMap(([name, { count, reasons = [] }]) => {
    if (name === 'timed_out') return reasons.map(({ reason }) => `${name}: ${reason}`);
    return count > 0 ? [name] : [];
  });
}

/** Returns the validators that misbehaved. */
async function expectOthersSign(
  world: FaultWorld,
  misbehaviour: Misbehaviour,
  among: readonly WeightedIndex[],
  share: number,
): Promise<ReadonlySet<number>> {
  const { name } = misbehaviour;
  const drawn = misbehaviourFromSeed(SEED, among, share, [misbehaviour]);
  world.misbehave(behavioursOf(drawn));
  for (let round = 0; round < 2; round += 1) world.expectSigned(await world.ask(67), 67, name);
  if (!misbehaviour.mayYetSign) {
    const answer = await world.ask(100);
    expect(answer.status, name).toBeGreaterThanOrEqual(400);
    const failures = outcomesOf(answer).filter((outcome) => !UNDECIDED.includes(outcome));
    const [first] = drawn.values();
    expect(failures, name).toEqual(first && [OUTCOMES[first.behaviour.kind] ?? 'unreachable']);
  }
  return new Set(drawn.keys());
}

describe.concurrent('a third of the weight misbehaves in one way, then another third', { timeout: TIMEOUT_MS }, () => {
  test.for(PAIRS.map((pair) => ({ pair, names: pair.map(({ name }) => name).join('; ') })))(
    '$names: the others sign',
    async ({ pair }) => {
      await using world = await startFaultWorld(undefined, SETTINGS);
      let among = world.validators;
      for (const misbehaviour of pair) {
        // A third of all, and as much of those that have behaved so far.
        const share = among.length === world.validators.length ? 0.33 : 0.45;
        const drawn = await expectOthersSign(world, misbehaviour, among, share);
        world.misbehave(new Map([...drawn].map((index) => [index, { kind: 'normal' }])));
        among = among.filter(({ index }) => !drawn.has(index));
      }
    },
  );
});
