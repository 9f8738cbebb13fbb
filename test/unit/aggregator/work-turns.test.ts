import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CapacityLimit } from '../../../src/aggregator/capacity-limit.ts';
import { type Turn, WorkTurns } from '../../../src/aggregator/work-turns.ts';
import { FakeClock, settle } from '../../fake-clock.ts';

function create(limit: number) {
  const clock = new FakeClock();
  const state = { limit };
  const turns = new WorkTurns({
    clock,
    limit: () => state.limit,
    timeoutMs: 10_000,
    tooLong: () => new Error('too long'),
  });
  const order: string[] = [];
  /** Names of those who have had a turn so far, in this order. */
  function take(client: string | undefined, name = String(client)) {
    const leaver = new AbortController();
    const turn = turns.take(client, leaver.signal).then((taken) => {
      order.push(name);
      return taken;
    });
    turn.catch(() => undefined);
    return { turn, leave: (reason: Error) => leaver.abort(reason) };
  }
  return { clock, state, turns, order, take };
}

function release(turn: Turn | undefined): void {
  turn?.[Symbol.dispose]();
}

describe('turns', () => {
  test('one client alone has half of them; the next one need not wait', async () => {
    const { take, turns, order } = create(9);
    for (let number = 0; number < 100; number += 1) take('flood');
    await settle();
    expect([turns.taken, turns.waiting]).toEqual([5, 95]);
    take('good');
    await settle();
    expect(order.at(-1)).toBe('good');
  });

  test('next is who has least under way, and of those who came first', async () => {
    const { take, order, turns } = create(1);
    const { turn: first } = take('a', 'a1');
    for (const [client, name] of [
      ['a', 'a2'],
      ['a', 'a3'],
      ['b', 'b1'],
      ['c', 'c1'],
      ['b', 'b2'],
    ] as const) {
      const { turn } = take(client, name);
      void turn.then(release);
    }
    release(await first);
    await settle();
    // With one turn nobody has anything under way when the next is chosen, so all stand in one line.
    expect(order).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
    expect([turns.taken, turns.waiting]).toEqual([0, 0]);
  });

  test('a client with work under way stands behind one without', async () => {
    const { take, order, state, turns } = create(3);
    const flood = [take('flood', 'f1'), take('flood', 'f2'), take('flood', 'f3')];
    take('other', 'o1');
    await settle();
    expect(order).toEqual(['f1', 'f2', 'o1']);
    take('good', 'g1');
    release(await flood[0]?.turn);
    await settle();
    expect(order.at(-1)).toBe('g1');
    // More turns help those who wait, as soon as they are told.
    state.limit = 9;
    expect(turns.waiting).toBe(1);
    turns.startWaiting();
    await settle();
    expect(order.at(-1)).toBe('f3');
  });

  test('whoever says no name has no share, and waits in line', async () => {
    const { take, turns } = create(3);
    for (let number = 0; number < 5; number += 1) take(undefined);
    await settle();
    expect([turns.taken, turns.waiting]).toEqual([3, 2]);
  });

  test('who leaves, or has waited too long, is out of the line', async () => {
    const { take, turns, clock } = create(1);
    const working = take('a');
    const leaver = take('b');
    const late = take('c');
    leaver.leave(new Error('gone'));
    await expect(leaver.turn).rejects.toThrow('gone');
    await clock.advance(10_000);
    await expect(late.turn).rejects.toThrow('too long');
    expect([turns.taken, turns.waiting, clock.pendingTimers]).toEqual([1, 0, 0]);
    release(await working.turn);
    release(await working.turn);
    expect(turns.taken).toBe(0);
    const gone = take('d');
    gone.leave(new Error('at once'));
    await expect(gone.turn.then(release)).resolves.toBeUndefined();
  });
});

test('in any order of events, there are never more turns than allowed, and nothing is left behind', async () => {
  const step = fc.record({ kind: fc.constantFrom('take', 'take', 'end', 'leave'), client: fc.nat(3), pick: fc.nat() });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60 }), async (limit, steps) => {
      const { take, turns, clock } = create(limit);
      const all: ReturnType<typeof take>[] = [];
      for (const { kind, client, pick } of steps) {
        const one = all[pick % Math.max(1, all.length)];
        if (kind === 'take') all.push(take(`c${client}`));
        else if (kind === 'leave') one?.leave(new Error('gone'));
        else if (turns.taken > 0) void one?.turn.then(release, () => undefined);
        await settle();
        expect(turns.taken).toBeLessThanOrEqual(limit);
        // A turn is free only where it is kept for others.
        if (turns.taken === 0) expect(turns.waiting).toBe(0);
      }
      for (const { leave, turn } of all) {
        void turn.then(release, () => undefined);
        leave(new Error('end'));
      }
      await settle();
      expect([turns.taken, turns.waiting, clock.pendingTimers]).toEqual([0, 0, 0]);
    }),
    { numRuns: 200 },
  );
});

describe('a turn that rests', () => {
  test('is free for others, and comes back when there is one', async () => {
    const { take, turns, order } = create(1);
    const own = await take('a', 'a1').turn;
    const other = take('b', 'b1');
    own.rest();
    own.rest();
    const next = await other.turn;
    expect([turns.taken, turns.waiting]).toEqual([1, 0]);
    let isBack = false;
    const back = own.resume(new AbortController().signal).then(() => {
      isBack = true;
    });
    await settle();
    expect([isBack, turns.waiting]).toEqual([false, 1]);
    release(next);
    await back;
    expect([turns.taken, turns.waiting, order]).toEqual([1, 0, ['a1', 'b1']]);
    // Nothing to wait for.
    await own.resume(new AbortController().signal);
    release(own);
    expect(turns.taken).toBe(0);
  });

  test('comes back without it when the time is up, and then gives none back', async () => {
    const { clock, take, turns } = create(1);
    const own = await take('a').turn;
    own.rest();
    const other = await take('b').turn;
    const timeUp = new AbortController();
    const back = own.resume(timeUp.signal);
    // The time to wait for the first turn is not that for another one.
    await clock.advance(60_000);
    expect(turns.waiting).toBe(1);
    timeUp.abort(new Error('time is up'));
    await back;
    release(own);
    expect([turns.taken, turns.waiting, clock.pendingTimers]).toEqual([1, 0, 0]);
    release(other);
    expect(turns.taken).toBe(0);
  });
});

/** Of one aggregation, as with 200 validators: its work is cut into pieces that stand in one line with all others. */
const PIECES = 8;
const PIECE_MS = 10;
const CAPACITY_PER_SECOND = 1_000 / (PIECES * PIECE_MS);

/** One thread, in steps of a millisecond, under a flood of ten times what it can do; a good request of another client each 500 ms. */
async function simulate(limitOf: (capacity: CapacityLimit) => number, floodPerSecond: number) {
  const clock = new FakeClock();
  const capacity = new CapacityLimit({ floor: 2, ceiling: 256, start: 8 });
  const turns = new WorkTurns({
    clock,
    limit: () => limitOf(capacity),
    timeoutMs: 10_000,
    tooLong: () => new Error('too long'),
  });
  const line: { leftMs: number; readonly done: () => void }[] = [];
  const goodMs: number[] = [];
  let [atMs, owed, underWay] = [0, 0, 0];
  const work = async (client: string, onEnd: (tookMs: number) => void): Promise<void> => {
    const startMs = atMs;
    underWay += 1;
    const turn = await turns.take(client, new AbortController().signal);
    for (let piece = 0; piece < PIECES; piece += 1) {
      const queuedMs = atMs;
      await new Promise<void>((done) => void line.push({ leftMs: PIECE_MS, done }));
      capacity.observe('answers', atMs - queuedMs - PIECE_MS, atMs, turns.taken);
    }
    release(turn);
    underWay -= 1;
    onEnd(atMs - startMs);
  };
  for (; atMs < 20_000; atMs += 1) {
    // Seats bound what waits: the rest is refused.
    for (owed += floodPerSecond / 1_000; owed >= 1; owed -= 1) if (underWay < 32) void work('flood', () => undefined);
    if (atMs % 500 === 0) void work('good', (tookMs) => goodMs.push(tookMs));
    const [first] = line;
    if (first !== undefined) {
      first.leftMs -= 1;
      if (first.leftMs === 0) line.shift()?.done();
    }
    turns.startWaiting();
    for (let tick = 0; tick < 6; tick += 1) await Promise.resolve();
  }
  return goodMs.toSorted((a, b) => a - b)[Math.floor(0.95 * goodMs.length)] ?? Number.POSITIVE_INFINITY;
}

test('a flood of ten times capacity makes another client wait for at most five times as long; without turns, for far longer', async () => {
  const flood = 10 * CAPACITY_PER_SECOND;
  const quiet = await simulate((capacity) => capacity.limit, 0);
  expect(quiet).toBe(PIECES * PIECE_MS);
  expect(await simulate((capacity) => capacity.limit, flood)).toBeLessThanOrEqual(5 * quiet);
  expect(await simulate(() => 256, flood)).toBeGreaterThan(15 * quiet);
});
