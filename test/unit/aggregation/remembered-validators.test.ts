import { expect, test } from 'vitest';
import { idFromBytes, type SubnetID } from '../../../src/warp/ids.ts';
import { ANSWER_MS, answers, createFixture, drain, type Fixture, SUBNET_ID } from './collection/collection-fixture.ts';

const OTHER_SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(5), 'subnet');
const IGNORED = answers({ kind: 'timed_out', reason: 'request_dropped' }, 2_999);

/** Collects for distinct messages, one after the other; returns how long each took. */
async function inTurn(fixture: Fixture, count: number, pauseMs = 0) {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const startMs = fixture.clock.monotonicMs();
    const justification = fixture.createJustification();
    const { value, atMs } = await fixture.finish(fixture.collect({ quorum: 67, justification }));
    fixture.signersOf(value, 67);
    times.push(atMs - startMs);
    await fixture.clock.advance(pauseMs);
  }
  return times;
}

test('a validator that did not answer about the chain of another subnet is asked as before about this one, and so are all that do not run that chain', async () => {
  const fixture = createFixture({ weights: Array(20).fill(5) });
  const { source, validators } = fixture;
  for (const position of validators.keys()) fixture.script(position, IGNORED);
  await fixture.finish(fixture.collect({ quorum: 67, sourceSubnetID: OTHER_SUBNET }));
  for (const position of validators.keys()) fixture.script(position, 'signs');
  source.calls.length = 0;
  expect(await inTurn(fixture, 1)).toEqual([ANSWER_MS]);
  // As many as the quorum needs, and no more.
  expect(source.calls).toHaveLength(14);
});

test('a validator that did not answer is tried out beside the others now and then, and asked as before when it answers', async () => {
  const fixture = createFixture({ weights: [24, 20, 20, 20, 20] });
  fixture.script(0, 'silent');
  await inTurn(fixture, 1);
  fixture.source.calls.length = 0;
  const silentFor = await inTurn(fixture, 600, 90);
  expect(Math.max(...silentFor)).toBe(ANSWER_MS);
  const trials = fixture.asked().filter((position) => position === 0).length;
  // In a minute: after 2 s, and then after twice as long each time.
  expect(trials).toBeGreaterThanOrEqual(4);
  expect(trials).toBeLessThanOrEqual(6);
  fixture.script(0, 'signs');
  const recovering = await inTurn(fixture, 700, 90);
  expect(Math.max(...recovering)).toBe(ANSWER_MS);
  fixture.source.calls.length = 0;
  await inTurn(fixture, 1);
  expect(fixture.asked()).toEqual([0, 1, 2, 3]);
});

test('a validator that answers after the collection in which it is tried out is not doubtful any more', async () => {
  const fixture = createFixture({ weights: [24, 20, 20, 20, 20] });
  fixture.script(0, 'silent');
  await inTurn(fixture, 1);
  fixture.script(0, fixture.acts(0, 'signs', 200));
  const record = () => fixture.deps.histories.of(SUBNET_ID).recordOf(fixture.at(0).nodeIDs[0]!);
  expect(record()?.isDoubtful).toBe(true);
  expect(await inTurn(fixture, 10, 500)).toEqual(Array(10).fill(ANSWER_MS));
  expect(record()?.isDoubtful).toBe(false);
});

test('a trial ends with the collection only if the message is large', async () => {
  for (const [bytes, pending] of [
    [0, 1],
    [8 * 1024, 0],
  ] as const) {
    const fixture = createFixture({ weights: [24, 20, 20, 20, 20] });
    fixture.script(0, 'silent');
    await inTurn(fixture, 1);
    await fixture.clock.advance(2_000);
    fixture.source.calls.length = 0;
    await fixture.finish(fixture.collect({ quorum: 67, justification: new Uint8Array(bytes).fill(1) }));
    await drain();
    expect(fixture.asked()[0]).toBe(0);
    expect(fixture.source.inFlight).toBe(pending);
  }
});

test('a node that did not answer is asked after the other node of its validator', async () => {
  const fixture = createFixture({ weights: [60, 40], nodeCounts: [2, 1] });
  const [silent, other] = fixture.at(0).nodeIDs;
  fixture.source.add(silent!, fixture.acts(0, 'silent'));
  await inTurn(fixture, 1);
  fixture.source.calls.length = 0;
  expect(await inTurn(fixture, 1)).toEqual([ANSWER_MS]);
  expect(fixture.source.calls.map(({ nodeID }) => nodeID)).toEqual([other, fixture.at(1).nodeIDs[0]]);
});

test('a validator that is doubtful and needed is asked together with the next ones', async () => {
  const fixture = createFixture({ weights: [20, 20, 20, 20, 20] });
  for (const position of [0, 1]) fixture.script(position, fixture.acts(position, 'signs', 700));
  expect(await inTurn(fixture, 1)).toEqual([700]);
  fixture.source.calls.length = 0;
  fixture.script(1, 'signs');
  expect(await inTurn(fixture, 1)).toEqual([ANSWER_MS]);
  expect(fixture.asked().toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
});

test('a validator that refuses what others sign is asked after them', async () => {
  const fixture = createFixture({ weights: [24, 20, 20, 20, 20] });
  fixture.script(0, answers({ kind: 'refused', code: -4, text: 'throttled' }));
  expect(await inTurn(fixture, 5)).toEqual([2 * ANSWER_MS, ...Array(4).fill(ANSWER_MS)]);
});
