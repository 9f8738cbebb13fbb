/** Time and timers, which tests replace by virtual time. */
export interface Clock {
  now(): number;
  /** Milliseconds since a fixed point, for durations. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`, or after 24 days if that is less. @returns a function that cancels it */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back after yielding to the event loop, which handles other events first. */
  afterTurn(callback: () => void): void;
}

/** Maximum of `setTimeout`, which fires after 1 ms if the delay is longer. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
  afterTurn: (callback) => void setImmediate(callback),
};

/** Uniform in [0, 1), such as `Math.random`; tests replace it. */
export type Random = () => number;

/** Resolves after `delayMs`; rejects with the signal's reason when it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Calls `work` again and again, each time after the pause that it returned, until the signal aborts. */
export async function repeat(clock: Clock, signal: AbortSignal, work: () => Promise<number>): Promise<void> {
  while (!signal.aborted) {
    const pauseMs = await work();
    await sleep(clock, pauseMs, signal).catch(() => undefined);
  }
}

export function nextTurn(clock: Pick<Clock, 'afterTurn'>): Promise<void> {
  return new Promise((resolve) => {
    clock.afterTurn(resolve);
  });
}
