import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LARGE_QUERY_BYTES, MAX_STARTED_A_TURN, QueryRoom } from '../../../src/aggregator/query-room.ts';
import { FakeClock, settle } from '../../fake-clock.ts';

const LARGE = LARGE_QUERY_BYTES + 1;

test('never has more under way than there is room for, and lets all pass in the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 5 * LARGE }), { maxLength: 30 }),
      fc.infiniteStream(fc.nat()),
      async (sizes, random) => {
        const room = new QueryRoom({ clock: new FakeClock(), maxQueries: 3, maxLargeBytes: 4 * LARGE });
        const underWay: { bytes: number; end: () => void }[] = [];
        const all = sizes.map((bytes) =>
          room.run(bytes, async () => {
            await new Promise<void>((end) => void underWay.push({ bytes, end }));
            if (bytes % 7 === 0) throw new Error('failed');
            return bytes;
          }),
        );
        const results = Promise.allSettled(all);
        for (let ended = 0; ended < sizes.length; ended += 1) {
          await settle();
          expect(underWay.filter(({ bytes }) => bytes < LARGE).length).toBeLessThanOrEqual(3);
          const large = underWay.filter(({ bytes }) => bytes >= LARGE);
          const largeBytes = large.reduce((sum, { bytes }) => sum + bytes, 0);
          // One that is larger than all the room goes alone.
          expect(largeBytes <= 4 * LARGE || large.length === 1).toBe(true);
          expect(underWay.length).toBeGreaterThan(0);
          underWay.splice((random.next().value ?? 0) % underWay.length, 1)[0]?.end();
        }
        const statuses = (await results).map(({ status }) => status);
        expect(statuses).toEqual(sizes.map((bytes) => (bytes % 7 === 0 ? 'rejected' : 'fulfilled')));
        await settle();
        expect(room.size).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
});

test('has 16 MiB for large ones, however many validators are to be sent them', async () => {
  const clock = new FakeClock();
  const room = new QueryRoom({ clock, maxQueries: 100_000 });
  let underWay = 0;
  const query = () => {
    underWay += 1;
    return new Promise<void>(() => {});
  };
  for (let count = 0; count < 1_000; count += 1) void room.run(200 * 1024, query);
  await clock.advance(0);
  expect(underWay).toBe(81);
  expect(room.usage().largeBytes).toMatchObject({ limit: 16 * 1024 * 1024, waiting: 919 });
});

test('large ones do not hold up small ones, and who finds room starts at once', () => {
  const room = new QueryRoom({ clock: new FakeClock(), maxQueries: 10, maxLargeBytes: 2 * LARGE });
  const started: string[] = [];
  const start = (name: string) => () => {
    started.push(name);
    return new Promise<void>(() => {});
  };
  for (const name of ['a', 'b', 'c', 'd']) void room.run(LARGE, start(name));
  void room.run(100, start('small'));
  expect(started).toEqual(['a', 'b', 'small']);
});

function createClients(room: QueryRoom, bytes = 100) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (client: string, count: number): void => {
    for (let number = 0; number < count; number += 1) {
      const name = `${client}${number}`;
      const query = () => {
        started.push(name);
        return new Promise<void>((end) => void ends.set(name, end));
      };
      room.start(bytes, query, client);
    }
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settle();
  };
  return { started, start, end };
}

test('is left to one client after the other where it is full, each in the order of coming', async () => {
  const room = new QueryRoom({ clock: new FakeClock(), maxQueries: 6 });
  const { started, start, end } = createClients(room);
  for (const [client, count] of Object.entries({ a: 20, b: 3, c: 1 })) start(client, count);
  expect(started).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'c0']);
  expect(room.usage().queries).toEqual({ used: 6, limit: 6, waiting: 18 });
  for (let ended = 0; ended < 24; ended += 1) await end(started[ended] ?? '');
  expect(started.slice(6, 12)).toEqual(['b1', 'a4', 'a5', 'b2', 'a6', 'a7']);
  expect([started.length, room.size]).toEqual([24, 0]);
});

test.each([
  ['small', 100, { maxQueries: 300 }],
  ['large', LARGE, { maxQueries: 300, maxLargeBytes: 300 * LARGE }],
])('leaves a third of the room to others where all %s ones of one client meet silence', async (_, bytes, limits) => {
  const turns: (() => void)[] = [];
  const room = new QueryRoom({ clock: { afterTurn: (callback) => void turns.push(callback) }, ...limits });
  const { started, start, end } = createClients(room, bytes);
  const passTurns = (): void => {
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) turn();
  };
  start('silent', 1_000);
  passTurns();
  expect(started).toHaveLength(200);
  // Each of these is answered at once.
  start('good', 400);
  for (let answered = 0; answered < 400; answered += 1) {
    passTurns();
    await end(`good${answered}`);
  }
  expect(started.filter((name) => name.startsWith('good'))).toHaveLength(400);
  expect(started).toHaveLength(600);
});

test('large ones begin also while small ones come faster than they can begin', () => {
  const turns: (() => void)[] = [];
  const room = new QueryRoom({ clock: { afterTurn: (callback) => void turns.push(callback) }, maxQueries: 10_000 });
  const started = { small: 0, large: 0 };
  const start = (kind: keyof typeof started) =>
    room.start(kind === 'small' ? 100 : LARGE, () => {
      started[kind] += 1;
      return new Promise<void>(() => {});
    });
  for (let count = 0; count < 10 * MAX_STARTED_A_TURN; count += 1) start('small');
  for (let count = 0; count < 10; count += 1) start('large');
  expect(started).toEqual({ small: MAX_STARTED_A_TURN, large: 0 });
  for (let turn = 0; turn < 2; turn += 1) turns.shift()?.();
  expect(started.large).toBe(10);
  // And a flood of large ones leaves most of each turn to the small ones.
  for (let count = 0; count < 10 * MAX_STARTED_A_TURN; count += 1) start('large');
  const before = { ...started };
  turns.shift()?.();
  expect(started.small - before.small).toBe((3 * MAX_STARTED_A_TURN) / 4);
});

test('begins a few in each turn of the event loop, whoever asks, and the rest in the next ones', () => {
  const turns: (() => void)[] = [];
  const room = new QueryRoom({ clock: { afterTurn: (callback) => void turns.push(callback) }, maxQueries: 1_000 });
  let started = 0;
  const query = () => {
    started += 1;
    return new Promise<void>(() => {});
  };
  for (let count = 0; count < 2 * MAX_STARTED_A_TURN + 5; count += 1)
    void room.run(count % 2 === 0 ? 100 : LARGE, query);
  const startedAfter: number[] = [];
  for (;;) {
    startedAfter.push(started);
    const [next, ...others] = turns.splice(0);
    expect(others).toEqual([]);
    if (next === undefined) break;
    next();
  }
  expect(startedAfter).toEqual([1, 2, 2, 2].map((full, at) => full * MAX_STARTED_A_TURN + (at < 2 ? 0 : 5)));
});
