import { type Clock, nextTurn } from './clock.ts';

/** Lets one loop wait for a change or a time. A change while the loop is busy ends its next wait at once; several count as one. */
export interface WakeUp extends Disposable {
  readonly wake: () => void;
  /** Makes the current or the next wait reject, so that a bug surfaces in the loop. */
  fail(error: unknown): void;
  /** @param atMs monotonic time, or infinity */
  next(atMs: number): Promise<void>;
  /** Like {@link next}, and counts all changes of the same turn of the event loop as one. */
  nextTurn(atMs: number): Promise<void>;
}

export function createWakeUp(clock: Clock): WakeUp {
  let isPending = false;
  let failure: { readonly error: unknown } | undefined;
  let settle: (() => void) | undefined;

  function wake(): void {
    isPending = true;
    settle?.();
  }

  async function change(atMs: number): Promise<void> {
    if (isPending) return;
    await new Promise<void>((resolve) => {
      const cancel = Number.isFinite(atMs) ? clock.after(Math.max(0, atMs - clock.monotonicMs()), resolve) : undefined;
      settle = () => {
        cancel?.();
        resolve();
      };
    });
    settle = undefined;
  }

  function take(): void {
    isPending = false;
    if (failure !== undefined) throw failure.error;
  }

  return {
    wake,
    fail(error) {
      failure ??= { error };
      wake();
    },
    async next(atMs) {
      await change(atMs);
      take();
    },
    async nextTurn(atMs) {
      await change(atMs);
      await nextTurn(clock);
      take();
    },
    [Symbol.dispose]() {
      settle?.();
    },
  };
}
