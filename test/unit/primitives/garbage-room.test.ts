import { expect, test } from 'vitest';
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
