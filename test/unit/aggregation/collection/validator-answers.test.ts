import { expect, test } from 'vitest';
import type { ValidatorAnswer } from '../../../../src/aggregation/collection/validator-answers.ts';
import {
  ANSWER_MS,
  createFixture,
  type Fixture,
  type FixtureOptions,
  LIMITS,
  SUBNET_ID,
} from './collection-fixture.ts';

type Seen = readonly [position: number, outcome: ValidatorAnswer['outcome'], tookMs?: number];

/** A fixture whose collections report what each validator did. Each collection has a message of its own. */
function observed(options: FixtureOptions) {
  const fixture = createFixture(options);
  const seen: Seen[][] = [];
  const observer = {
    onSigned(subnetID: string, readAnswers: () => readonly ValidatorAnswer[]): void {
      expect(subnetID).toBe(SUBNET_ID);
      seen.push(readAnswers().map((answer) => seenOf(fixture, answer)));
    },
  };
  const run = (quorum: number) =>
    fixture.run({ quorum, justification: fixture.createJustification(), deps: { observer } });
  return { ...fixture, seen, run };
}

function seenOf({ validators }: Fixture, { validator, outcome, tookMs }: ValidatorAnswer): Seen {
  const position = validators.findIndex(({ publicKeyHex }) => publicKeyHex === validator.publicKeyHex);
  return tookMs === undefined ? [position, outcome] : [position, outcome, tookMs];
}

test('of a signed collection the validators that were asked are reported, each once, with the time of their answers', async () => {
  const { run, seen } = observed({ weights: [40, 30, 20, 10] });
  await run(67);
  expect(seen).toEqual([
    [
      [0, 'signed', ANSWER_MS],
      [1, 'signed', ANSWER_MS],
    ],
  ]);
});

test('a message that all validators refuse is not reported', async () => {
  const { run, script, seen } = observed({ weights: [40, 30, 20, 10] });
  for (const position of [0, 1, 2, 3]) script(position, 'refuses');
  expect((await run(67)).value.kind).toBe('insufficient');
  expect(seen).toEqual([]);
});

test('a validator that refuses what others sign has refused, however often it was asked', async () => {
  const { run, script, seen } = observed({ weights: [30, 30, 20, 20] });
  script(1, 'refuses');
  await run(70);
  expect(seen).toEqual([
    [
      [0, 'signed', ANSWER_MS],
      [1, 'refused', ANSWER_MS],
      [2, 'signed', ANSWER_MS],
      [3, 'signed', ANSWER_MS],
    ],
  ]);
});

test('refusals of a message that only a minority signs for a low quorum are not reported', async () => {
  const { run, script, seen } = observed({ weights: [40, 30, 30] });
  script(0, 'refuses');
  script(1, 'refuses');
  expect((await run(30)).value.kind).toBe('signed');
  expect(seen).toEqual([[[2, 'signed', ANSWER_MS]]]);
});

test('a validator that does not answer while others are asked in its place has timed out', async () => {
  const { run, script, seen } = observed({ weights: [30, 30, 20, 20] });
  script(0, 'silent');
  await run(70);
  expect(seen[0]).toContainEqual([0, 'timed_out']);
});

test('a request that the end of the collection cuts short before it is late shows nothing', async () => {
  const { run, script, acts, seen } = observed({ weights: [30, 30, 20, 20] });
  // The third one is asked when the second one is late, and both answer in time for the quorum, but not the first one's buffer.
  script(0, acts(0, 'signs', LIMITS.hedgeAfterMs + 100));
  script(3, acts(3, 'signs', 200));
  await run(70);
  expect(seen[0]?.map(([position]) => position)).toEqual([0, 1, 2]);
});

test('a validator that gives an invalid signature is reported with that', async () => {
  const { run, script, seen } = observed({ weights: [30, 30, 20, 20] });
  script(0, 'forges');
  await run(70);
  expect(seen[0]?.map(([position, outcome]) => [position, outcome])).toContainEqual([0, 'invalid_signature']);
});

test('a validator without a connection is unreachable if a lighter one was asked', async () => {
  const { run, at, source, seen } = observed({ weights: [40, 30, 20, 10] });
  for (const nodeID of [...at(1).nodeIDs, ...at(3).nodeIDs]) source.disconnect(nodeID);
  await run(60);
  expect(seen).toEqual([
    [
      [0, 'signed', ANSWER_MS],
      [1, 'unreachable'],
      [2, 'signed', ANSWER_MS],
    ],
  ]);
});

test('a validator that failed shortly before is not asked, and trials show nothing', async () => {
  const { run, script, clock, seen } = observed({ weights: [30, 30, 20, 20] });
  script(0, 'refuses', 'refuses', 'signs');
  await run(70);
  await run(70);
  // A trial, which it refuses, and a later one, which it signs.
  for (const untilTrialMs of [10_000, 60_000]) {
    await clock.advance(untilTrialMs);
    await run(70);
  }
  await run(70);
  expect(seen.map((answers) => answers.find(([position]) => position === 0))).toEqual([
    [0, 'refused', ANSWER_MS],
    [0, 'not_asked'],
    [0, 'not_asked'],
    undefined,
    [0, 'signed', ANSWER_MS],
  ]);
});

test('signatures in memory show nothing about their validators', async () => {
  const { collect, finish, deps, seen } = observed({ weights: [40, 30, 30] });
  const observer = {
    onSigned: (_: string, read: () => readonly ValidatorAnswer[]) => seen.push(read().map(() => [0, 'signed'])),
  };
  const justification = Uint8Array.of(1);
  await finish(collect({ quorum: 67, justification, deps: { ...deps, observer } }));
  await finish(collect({ quorum: 67, justification, deps: { ...deps, observer } }));
  expect(seen.map(({ length }) => length)).toEqual([2, 0]);
});
