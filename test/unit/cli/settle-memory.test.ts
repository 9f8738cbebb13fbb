import { expect, test, vi } from 'vitest';
import { PROCESS_MEMORY, type ProcessMemory, settleMemory } from '../../../src/cli/settle-memory.ts';
import { GARBAGE_ROOM } from '../../../src/primitives/garbage-room.ts';
import { FakeClock } from '../../fake-clock.ts';

const MIB = 1024 * 1024;

/** A process whose memory and business are as the test says. */
function scriptedMemory() {
  const done: string[] = [];
  const state = { usedBytes: 100 * MIB, utilization: 1 };
  const memory: ProcessMemory = {
    usedBytes: () => state.usedBytes,
    utilization: () => state.utilization,
    collect() {
      done.push('collect');
      state.usedBytes = 50 * MIB;
    },
    collectAll() {
      done.push('collect all');
      state.usedBytes = 40 * MIB;
    },
    letHeapGrow: () => void done.push('grow'),
  };
  return { memory, state, take: () => done.splice(0) };
}

async function start() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  const { memory, state, take } = scriptedMemory();
  const settling = settleMemory({ untilReady: () => ready.promise }, memory, clock, stop.signal);
  settling.catch(() => undefined);
  return { clock, stop, ready, settling, state, take };
}

test('the start is collected a second after readiness, and thoroughly once the process is idle', async () => {
  const { clock, ready, state, take } = await start();
  await clock.advance(60_000);
  expect(take()).toEqual([]);
  ready.resolve();
  await clock.advance(999);
  expect(take()).toEqual([]);
  await clock.advance(1);
  expect(take()).toEqual(['collect', 'grow']);
  await clock.advance(60_000);
  expect(take()).toEqual([]);
  state.utilization = 0.1;
  await clock.advance(1_000);
  expect(take()).toEqual(['collect all']);
});

test('later, what a flood has left is collected when it is over, and little is not worth it', async () => {
  const { clock, ready, state, take } = await start();
  state.utilization = 0;
  ready.resolve();
  await clock.advance(2_000);
  take();
  state.usedBytes = 71 * MIB;
  await clock.advance(60_000);
  expect(take()).toEqual([]);
  state.usedBytes = 72 * MIB;
  state.utilization = 0.2;
  await clock.advance(60_000);
  expect(take()).toEqual([]);
  state.utilization = 0;
  await clock.advance(10_000);
  expect(take()).toEqual(['collect']);
  await clock.advance(60_000);
  expect(take()).toEqual([]);
  // V8 itself has found more: from there on it counts anew.
  state.usedBytes = 20 * MIB;
  await clock.advance(10_000);
  state.usedBytes = 52 * MIB;
  await clock.advance(10_000);
  expect(take()).toEqual(['collect']);
});

test('it ends with the service, and leaves no timer', async () => {
  const { clock, stop, ready, settling } = await start();
  ready.resolve();
  await clock.advance(30_000);
  stop.abort(new Error('stopped'));
  await expect(settling).rejects.toThrow('stopped');
  expect(clock.pendingTimers).toBe(0);
});

test('from readiness on, the room for garbage counts how fast the heap of the process grows', () => {
  const watch = vi.spyOn(GARBAGE_ROOM, 'watch').mockReturnValue();
  PROCESS_MEMORY.letHeapGrow();
  expect(watch).toHaveBeenCalledOnce();
  watch.mockRestore();
});
