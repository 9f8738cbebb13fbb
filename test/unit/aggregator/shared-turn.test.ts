import { expect, test } from 'vitest';
import type { Place } from '../../../src/aggregator/admission.ts';
import { SharedTurn } from '../../../src/aggregator/shared-turn.ts';
import type { Turn } from '../../../src/aggregator/work-turns.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { settle } from '../../fake-clock.ts';
import { CHAIN, createHarness, MESSAGE, NETWORK_ID } from './aggregator-fixture.ts';
import { NOTHING_LEFT } from './collection-fixture.ts';

const REFUSED = new Error('no credit');

/** A place whose turn comes when the test says so. */
function createPlace(client: string, { hasCredit = true, mayBegin = true } = {}) {
  const log: string[] = [];
  const turn = Promise.withResolvers<Turn>();
  const place = {
    client,
    takeCredit() {
      if (!hasCredit) throw REFUSED;
      log.push('credit');
      return {
        begin() {
          if (!mayBegin) throw REFUSED;
          log.push('begun');
        },
        settle: () => undefined,
        [Symbol.dispose]: () => log.push('credit back'),
      };
    },
    turn(signal: AbortSignal) {
      signal.addEventListener('abort', () => turn.reject(signal.reason), { once: true });
      return turn.promise;
    },
  } as unknown as Place;
  const come = (): void =>
    turn.resolve({
      rest: () => undefined,
      resume: async () => undefined,
      [Symbol.dispose]: () => log.push('turn back'),
    });
  return { place, log, come };
}

function take(shared: SharedTurn, signal = new AbortController().signal) {
  const taken = shared.take(CHAIN, 1, signal);
  taken.catch(() => undefined);
  return taken;
}

test('whoever has its turn first works for all, and the others give back what they had', async () => {
  const [first, second] = [createPlace('first'), createPlace('second')];
  const shared = new SharedTurn(first.place);
  const taking = take(shared);
  shared.join(createPlace('first').place);
  shared.join(second.place);
  await settle();
  second.come();
  const taken = await taking;
  await settle();
  expect(taken.client).toBe('second');
  expect(first.log).toEqual(['credit', 'credit back']);
  taken[Symbol.dispose]();
  expect(second.log).toEqual(['credit', 'begun', 'turn back', 'credit back']);
  // Nobody stands in line for what has begun.
  const late = createPlace('late');
  shared.join(late.place);
  expect(late.log).toEqual([]);
});

test('of two whose turns come at once one gives its own back, and has begun nothing', async () => {
  const [first, second] = [createPlace('first'), createPlace('second')];
  const shared = new SharedTurn(first.place);
  shared.join(second.place);
  const taking = take(shared);
  first.come();
  second.come();
  using taken = await taking;
  await settle();
  expect(taken.client).toBe('first');
  expect(second.log).toEqual(['credit', 'turn back', 'credit back']);
});

test.each([{ hasCredit: false }, { mayBegin: false }])(
  'who is refused leaves it to the others: %o',
  async (without) => {
    const [first, second] = [createPlace('first', without), createPlace('second')];
    const shared = new SharedTurn(first.place);
    shared.join(second.place);
    const taking = take(shared);
    first.come();
    await settle();
    second.come();
    expect((await taking).client).toBe('second');
  },
);

test('all that are refused are refused as the first one', async () => {
  const [first, second] = [createPlace('first', { hasCredit: false }), createPlace('second', { mayBegin: false })];
  const shared = new SharedTurn(first.place);
  shared.join(second.place);
  const taking = take(shared);
  second.come();
  await expect(taking).rejects.toBe(REFUSED);
  expect(second.log).toEqual(['credit', 'turn back', 'credit back']);
});

test.each(['before', 'while'])(
  'all give back what they had where nobody waits any more %s they stand in line',
  async (when) => {
    const [first, second] = [createPlace('first'), createPlace('second')];
    const shared = new SharedTurn(first.place);
    shared.join(second.place);
    const left = new AbortController();
    const reason = new Error('left');
    if (when === 'before') left.abort(reason);
    for (const { place } of [first, second]) {
      const { turn } = place;
      Object.assign(place, {
        turn: (signal: AbortSignal) => (signal.aborted ? Promise.reject(signal.reason) : turn(signal)),
      });
    }
    const taking = take(shared, left.signal);
    left.abort(reason);
    await expect(taking).rejects.toBe(reason);
    expect([first.log, second.log]).toEqual([
      ['credit', 'credit back'],
      ['credit', 'credit back'],
    ]);
  },
);

const messageOf = (number: number) => createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(9, number));

test('a request for a message that waits among the many of another client takes no longer than any other request', async () => {
  const tookMs = async (message: typeof MESSAGE) => {
    const { startFor, finish, clock, bls, leftovers } = createHarness({ maxAggregationsInFlight: 64 });
    await finish(startFor('first of all', { message: messageOf(200) }));
    bls.delayMs = 1_000;
    const flood = Array.from({ length: 12 }, (_, number) => startFor('flood', { message: messageOf(number) }));
    flood.push(startFor('flood', { message: MESSAGE }));
    const startMs = clock.monotonicMs();
    await finish(startFor('other', { message }));
    const ms = clock.monotonicMs() - startMs;
    for (const result of flood) await finish(result);
    expect(leftovers()).toEqual(NOTHING_LEFT);
    return ms;
  };
  const alone = await tookMs(messageOf(100));
  expect(await tookMs(MESSAGE)).toBe(alone);
});
