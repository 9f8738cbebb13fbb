/** Time as a port, so that every timer and deadline can run under virtual time in tests. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Milliseconds since some fixed point, never stepping back: for durations. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`, or after 24 days if that is less, unless the returned function is called before. */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back after the event loop has had a turn for whatever else is waiting. Long work is cut into pieces with it. */
  afterTurn(callback: () => void): void;
}

/** The longest that `setTimeout` takes. With a longer delay it fires after 1 ms, which turns a long wait into a busy loop. */
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

/** Uniform in [0, 1), as `Math.random`: a port, so that jitter is repeatable in tests. */
export type Random = () => number;

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
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

/** Resolves after a turn of the event loop. */
export function nextTurn(clock: Pick<Clock, 'afterTurn'>): Promise<void> {
  return new Promise((resolve) => {
    clock.afterTurn(resolve);
  });
}
