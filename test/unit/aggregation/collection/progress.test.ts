import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ProgressEvent,
  ProgressFeed,
  type ProgressState,
} from '../../../../src/aggregation/collection/progress.ts';
import type { ValidatorState } from '../../../../src/aggregation/collection/validator-state.ts';
import type { AttemptFailure } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { createHarness } from '../aggregator-fixture.ts';
import { ACTS, ANSWER_MS, createFixture, drain, SUBNET_ID } from './collection-fixture.ts';
import { createPlainTally, happen } from './tally-fixture.ts';

/** The state after the events: what anyone who follows them has to do. */
function replay(events: readonly ProgressEvent[]): ProgressState {
  const [first, ...rest] = events;
  if (first?.kind !== 'state') throw new Error('the first event must be the state');
  return rest.reduce((state, event): ProgressState => {
    switch (event.kind) {
      case 'state':
        return event.state;
      case 'asked':
        return change(state, event.index, ({ index, nodeIDs, weight, isConnected }) => ({
          index,
          nodeIDs,
          weight,
          isConnected,
          status: 'asked',
        }));
      case 'outcome': {
        const { index, outcome, signedWeight } = event;
        const next = change(state, index, (validator) => ({ ...validator, status: outcome.kind, outcome }));
        return { ...next, signedWeight };
      }
      case 'verifying':
        return { ...state, isVerifying: true };
    }
  }, first.state);
}

type ValidatorProgress = ProgressState['validators'][number];

function change(state: ProgressState, at: number, make: (validator: ValidatorProgress) => ValidatorProgress) {
  return { ...state, validators: state.validators.map((each) => (each.index === at ? make(each) : each)) };
}

/** What listening from now on would begin with. Without connections, of which no event tells. */
function stateOf(feed: ProgressFeed): ProgressState {
  const events: ProgressEvent[] = [];
  feed.subscribe((event) => events.push(event))();
  return withoutConnections(replay(events));
}

function withoutConnections(state: ProgressState): ProgressState {
  return { ...state, validators: state.validators.map((validator) => ({ ...validator, isConnected: false })) };
}

function recorder(feed: ProgressFeed): ProgressEvent[] {
  const events: ProgressEvent[] = [];
  feed.subscribe((event) => events.push(event));
  return events;
}

const kinds = (events: readonly ProgressEvent[]): string[] =>
  events.map((event) => (event.kind === 'outcome' ? event.outcome.kind : event.kind));

test('whenever a listener joins, the events that follow lead from its first state to the last', async () => {
  const validator = fc.record({
    weight: fc.integer({ min: 1, max: 20 }),
    does: fc.constantFrom(...ACTS),
    afterMs: fc.integer({ min: 0, max: 300 }).map((tens) => tens * 10),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(validator, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 100 }),
      fc.array(
        fc.integer({ min: 0, max: 300 }).map((tens) => tens * 10),
        { maxLength: 3 },
      ),
      async (validators, quorum, joinsAtMs) => {
        const fixture = createFixture({ weights: validators.map(({ weight }) => weight) });
        for (const [position, { does, afterMs }] of validators.entries()) {
          fixture.script(position, fixture.acts(position, does, afterMs));
        }
        const progress = fixture.createFeed();
        const recorded = [recorder(progress)];
        for (const atMs of joinsAtMs) fixture.clock.after(atMs, () => void recorded.push(recorder(progress)));
        await fixture.finish(fixture.collect({ quorum, progress }));
        const last = stateOf(progress);
        for (const events of recorded) expect(withoutConnections(replay(events))).toEqual(last);
        // Weights are those of the validators that count as signed, in every state on the way.
        for (let length = 1; length <= (recorded[0]?.length ?? 0); length += 1) {
          const { validators: all, signedWeight } = replay(recorded[0]?.slice(0, length) ?? []);
          const signed = all.filter(({ status }) => status === 'signed');
          expect(signed.reduce((sum, { weight }) => sum + weight, 0n)).toBe(signedWeight);
        }
      },
    ),
    { numRuns: 100 },
  );
}, 30_000);

describe('a feed', () => {
  const { warpSet } = createFixture({ weights: [1, 2] });

  function createFeed() {
    const feed = new ProgressFeed({ signingSubnetID: SUBNET_ID, pChainHeight: 1n, isConnected: () => true });
    const onChange = (index: number, state: ValidatorState): void => feed.changed(index, state);
    const tally = createPlainTally(warpSet, { quorumNum: 67n, quorumBuffer: 0n, onChange });
    return { feed, tally };
  }

  test('continues for the others when a listener throws, and drops that one', () => {
    const { feed, tally } = createFeed();
    let calls = 0;
    feed.subscribe(() => {
      calls += 1;
      throw new Error('a bug of the listener');
    });
    feed.subscribe((event) => {
      if (event.kind === 'asked') throw new Error('a bug of another listener');
    });
    const events = recorder(feed);
    feed.begin(tally);
    happen(tally, 0, { kind: 'queued' }, { kind: 'asked', lateAtMs: 0 });
    happen(tally, 0, { kind: 'signed', signature: new Uint8Array(96) });
    feed.verifying();
    expect(kinds(events)).toEqual(['state', 'asked', 'signed', 'verifying']);
    expect(calls).toBe(1);
  });

  test('shows a validator that refused as refused while it is asked again, and after it is silent', () => {
    const { feed, tally } = createFeed();
    feed.begin(tally);
    const events = recorder(feed);
    const refusal: AttemptFailure = { kind: 'refused', code: 1, text: 'unknown' };
    happen(tally, 0, { kind: 'queued' }, { kind: 'failed', failure: refusal, nowMs: 1 });
    for (const event of [
      { kind: 'queued' },
      { kind: 'asked', lateAtMs: 0 },
      { kind: 'failed', failure: { kind: 'timed_out', reason: 'no_answer' }, nowMs: 2 },
    ] as const) {
      happen(tally, 0, event);
      expect(stateOf(feed).validators[0]).toMatchObject({ status: 'refused', outcome: refusal });
      expect(withoutConnections(replay(events))).toEqual(stateOf(feed));
    }
  });
});

test('a collection with a bad signature shows its state again, and its second verification', async () => {
  const fixture = createFixture({ weights: [40, 40, 40] });
  fixture.script(0, 'forges');
  const progress = fixture.createFeed();
  const events = recorder(progress);
  await fixture.finish(fixture.collect({ quorum: 60, buffer: 5, progress }));
  expect(kinds(events).filter((kind) => ['state', 'verifying', 'invalid_signature'].includes(kind))).toEqual([
    'state',
    'verifying',
    'invalid_signature',
    'state',
    'verifying',
  ]);
});

test('an aggregation informs each waiting caller, a late one with the state first, until it leaves', async () => {
  const { start, finish, source, clock, silence } = createHarness();
  silence(1);
  const early: ProgressEvent[] = [];
  const late: ProgressEvent[] = [];
  const leaver = new AbortController();
  const first = start({ quorumBuffer: 3n }, { onProgress: (event) => early.push(event) });
  await drain();
  await clock.advance(ANSWER_MS);
  await drain();
  const second = start({ quorumBuffer: 3n }, { signal: leaver.signal, onProgress: (event) => late.push(event) });
  await drain();
  expect(kinds(late)).toEqual(['state']);
  const weights = { signedWeight: 30n, neededWeight: 67n, targetWeight: 70n, totalWeight: 100n };
  expect(late[0]).toMatchObject({ state: { pChainHeight: 98n, ...weights } });
  leaver.abort(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  await finish(first).catch(() => undefined);
  expect(late).toHaveLength(1);
  expect(kinds(early).slice(0, 4)).toEqual(['state', 'asked', 'asked', 'signed']);
  expect(kinds(early).at(-1)).toBe('timed_out');
  expect(source.listenerCount).toBe(0);
});
