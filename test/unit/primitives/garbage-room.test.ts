import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { GarbageRoom } from '../../../src/primitives/garbage-room.ts';

const MIB = 1024 * 1024;

function setUp(usedBytes: number) {
  const growth: number[] = [];
  const watching = new Set<(isFull: boolean) => void>();
  const state = { ms: 0, usedBytes };
  const room = new GarbageRoom(
    { monotonicMs: () => state.ms },
    {
      usedBytes: () => state.usedBytes,
      setGrowth: (percent) => growth.push(percent),
      onCollected: (callback) => void watching.add(callback),
    },
  );
  const collect = (isFull: boolean): void => {
    for (const callback of watching) callback(isFull);
  };
  /** The heap grows in this time, and is collected. */
  const cycle = (mib: number, ms: number): void => {
    const liveBytes = state.usedBytes;
    for (let step = 1; step <= 4; step += 1) {
      state.usedBytes = liveBytes + (mib * MIB * step) / 4;
      state.ms += ms / 4;
      collect(false);
    }
    state.usedBytes = liveBytes;
    collect(true);
  };
  return { room, growth, watching, state, collect, cycle };
}

test('while many bytes come, the heap has 64 MiB to grow, or half of what lives in it', () => {
  const small = setUp(32 * MIB);
  small.room.countBody(16 * MIB);
  expect(small.growth).toEqual([]);
  small.room.countBody(16 * MIB - 1);
  expect(small.growth).toEqual([]);
  small.room.countBody(1);
  expect(small.growth).toEqual([200]);

  const large = setUp(2_048 * MIB);
  for (let count = 0; count < 2; count += 1) large.room.countBody(16 * MIB);
  expect(large.growth).toEqual([50]);
});

test('bodies that come now and then leave it as it is', () => {
  const { room, growth, watching, state } = setUp(32 * MIB);
  for (let count = 0; count < 10; count += 1) {
    room.countBody(16 * MIB);
    state.ms += 5_000;
  }
  expect([growth, watching.size]).toEqual([[], 0]);
});

test('when they have come no more for a while, V8 decides again, until they come again', () => {
  const { room, growth, watching, state, collect } = setUp(32 * MIB);
  for (let count = 0; count < 3; count += 1) room.countBody(16 * MIB);
  expect(watching.size).toBe(1);
  state.ms += 4_999;
  collect(false);
  expect(growth).toEqual([200, 200]);
  state.ms += 1;
  collect(false);
  expect(growth).toEqual([200, 200, 0]);
  collect(true);
  expect(growth).toEqual([200, 200, 0]);
  for (let count = 0; count < 2; count += 1) room.countBody(16 * MIB);
  expect([growth.at(-1), watching.size]).toEqual([200, 1]);
});

test('a heap to which V8 gives more has 64 MiB to grow, and is left to V8 when it fills them slowly', () => {
  const { room, growth, collect, cycle } = setUp(64 * MIB);
  room.watch();
  room.watch();
  collect(true);
  cycle(64, 1_000);
  expect(growth).toEqual([]);
  cycle(65, 100_000);
  expect(growth).toEqual([100]);
  cycle(64, 59_999);
  expect(growth).toEqual([100, 100]);
  cycle(64, 60_000);
  expect(growth).toEqual([100, 100, 0]);
  cycle(64, 1_000);
  expect(growth).toEqual([100, 100, 0]);
});

test('while the heap grows fast, V8 does not decide because there are no bodies', () => {
  const { room, growth, state, collect, cycle } = setUp(64 * MIB);
  for (let count = 0; count < 2; count += 1) room.countBody(16 * MIB);
  collect(true);
  cycle(200, 4_000);
  state.ms += 60_000;
  collect(false);
  expect(growth).toEqual([100, 100, 100]);
});

describe('the heap of V8', () => {
  const MODULE = new URL('../../../src/primitives/garbage-room.ts', import.meta.url).href;

  /** @returns what a process of its own prints, in which `heap` is its heap */
  function printedBy(work: string): unknown {
    const code = `const { V8_HEAP: heap } = await import(${JSON.stringify(MODULE)}); ${work}`;
    const args = ['--expose-gc', '--input-type=module', '--eval', code];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 }));
  }

  /** Counts full collections while a heap of 30 MB grows by 80 MB, all of which lives. */
  const grown = (percent: number) =>
    printedBy(`
      const turn = () => new Promise((resolve) => setImmediate(resolve));
      const kept = [];
      const fill = (bytes) => {
        while (heap.usedBytes() < bytes) for (let n = 0; n < 2_000; n += 1) kept.push({ n, pair: [n, n] });
      };
      fill(30 * ${MIB});
      heap.setGrowth(${percent});
      gc();
      await turn();
      let full = 0;
      heap.onCollected((isFull) => (full += isFull ? 1 : 0));
      const startBytes = heap.usedBytes();
      for (let mib = 1; mib <= 80; mib += 1) {
        fill(startBytes + mib * ${MIB});
        await turn();
      }
      console.log(full);
    `);

  test('is collected as often as the growth says that is set while it runs', () => {
    // V8 also adds a few MB each time: four to six collections, and none.
    expect(grown(10)).toBeGreaterThanOrEqual(3);
    expect(grown(1_000)).toBeLessThanOrEqual(1);
  });

  test('tells full collections from others', () => {
    const told = printedBy(`
      const told = [];
      heap.onCollected((isFull) => told.push(isFull));
      for (const type of ['minor', 'major', 'minor']) {
        const count = told.length;
        gc({ type });
        while (told.length === count) await new Promise((resolve) => setImmediate(resolve));
      }
      console.log(JSON.stringify(told));
    `);
    expect(told).toEqual([false, true, false]);
  });
});
