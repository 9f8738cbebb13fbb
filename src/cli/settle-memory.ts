import { type Clock, sleep } from '../primitives/clock.ts';
import { collectAllGarbage, collectGarbage } from '../primitives/collect-garbage.ts';
import { GARBAGE_ROOM } from '../primitives/garbage-room.ts';
import { letYoungHeapGrow } from '../primitives/young-heap.ts';

/** The memory of a process, and who is in need of its time. */
export interface ProcessMemory {
  /** In the heap and beside it, garbage included. */
  usedBytes(): number;
  /** Of the event loop since the last call, 0 to 1. */
  utilization(): number;
  collect(): void;
  /** The same for longer, with all that is free given back to the system. */
  collectAll(): void;
  /** Lets the heap have what requests need. */
  letHeapGrow(): void;
}

/** From readiness on: what the start leaves over is collected after the first requests, which were waiting for it. */
const SETTLE_AFTER_MS = 1_000;
/** Of the event loop: few wait for a service that has so little to do, and those wait for some 50 ms at most. */
const IDLE_UTILIZATION = 0.1;
const LOOK_EVERY_MS = 10_000;
/** Not worth a pause. */
const LITTLE_BYTES = 32 * 1024 * 1024;

/**
 * Collects what is left of the start, and later of each flood, once there is time for it: V8 alone collects while it makes objects, and a
 * service without requests would keep for ever what its busiest hour took.
 *
 * @throws the signal's reason, and ends in no other way
 */
export async function settleMemory(
  service: { untilReady(signal: AbortSignal): Promise<void> },
  memory: ProcessMemory,
  clock: Clock,
  signal: AbortSignal,
): Promise<never> {
  const untilIdle = async (everyMs: number): Promise<void> => {
    memory.utilization();
    do await sleep(clock, everyMs, signal);
    while (memory.utilization() > IDLE_UTILIZATION);
  };
  await service.untilReady(signal);
  await sleep(clock, SETTLE_AFTER_MS, signal);
  memory.collect();
  memory.letHeapGrow();
  await untilIdle(SETTLE_AFTER_MS);
  memory.collectAll();
  let settledBytes = memory.usedBytes();
  for (;;) {
    await untilIdle(LOOK_EVERY_MS);
    const usedBytes = memory.usedBytes();
    // V8 has collected more by itself.
    settledBytes = Math.min(settledBytes, usedBytes);
    if (usedBytes - settledBytes < LITTLE_BYTES) continue;
    memory.collect();
    settledBytes = memory.usedBytes();
  }
}

/** Of this process, as far as its event loop goes. */
export const PROCESS_MEMORY: ProcessMemory = {
  usedBytes() {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  utilization: createUtilization(),
  collect: collectGarbage,
  collectAll: collectAllGarbage,
  letHeapGrow() {
    letYoungHeapGrow();
    GARBAGE_ROOM.watch();
  },
};

function createUtilization(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
