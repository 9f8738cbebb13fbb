import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 25;

/** Reads until the value is as asked for, and returns it. @throws after `timeoutMs`, with the last value */
export async function pollUntil<Value>(
  read: () => Promise<Value>,
  isReached: (value: Value) => boolean,
  timeoutMs: number,
  intervalMs = INTERVAL_MS,
): Promise<Value> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (isReached(value)) return value;
    if (performance.now() > endMs) throw new Error(`after ${timeoutMs} ms still ${JSON.stringify(value)}`);
    await delay(intervalMs);
  }
}
