import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Both halves of the young generation together. With the 1 MB that it starts with, collections take a fifth of the busy time of a
 * service under a flood; with this a fifteenth, and with twice as much no less.
 */
const ENOUGH_BYTES = 8 * 1024 * 1024;
/** By which V8 multiplies it when much has survived, and with which it stays as it is. */
const DOUBLE = 2;
const STAY = 1;

/**
 * Lets the young generation of this thread grow with the load from now on, as far as that helps. V8 alone would let it grow to 128 MB,
 * and not shrink it again while requests come; what survives its first seconds moves to the old space anyway.
 *
 * V8 has one such setting for all threads: until the growth is over, those of others may grow as well.
 */
export function letYoungHeapGrow(): void {
  setGrowth(DOUBLE);
  const observer = new PerformanceObserver(() => {
    if (youngBytes() < ENOUGH_BYTES) return;
    setGrowth(STAY);
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

function setGrowth(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
