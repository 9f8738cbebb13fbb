import type { Clock } from './clock.ts';

/**
 * Lets one loop wait until something changes or a time has come. A change that happens while the loop is busy is kept: then the
 * next wait ends at once. Several changes before a wait count as one.
 */
export interface WakeUp extends Disposable {
  readonly wake: () => void;
  /** Makes the current or the next wait reject: for bugs, which must surface where the loop is awaited. */
  fail(error: unknown): void;
  /** @param atMs monotonic time, or infinity */
  next(atMs: number): Promise<void>;
}

export function createWakeUp(clock: Clock): WakeUp {
  let isPending = false;
  let failure: { readonly error: unknown } | undefined;
  let settle: (() => void) | undefined;

  function wake(): void {
    isPending = true;
    settle?.();
  }

  return {
    wake,
    fail(error) {
      failure ??= { error };
      wake();
    },
    async next(atMs) {
      if (!isPending) {
        await new Promise<void>((resolve) => {
          const cancel = Number.isFinite(atMs)
            ? clock.after(Math.max(0, atMs - clock.monotonicMs()), resolve)
            : undefined;
          settle = () => {
            cancel?.();
            resolve();
          };
        });
      }
      settle = undefined;
      isPending = false;
      if (failure !== undefined) throw failure.error;
    },
    [Symbol.dispose]() {
      settle?.();
    },
  };
}
