import type { Clock } from './clock.ts';

/** The reason of a signal that a {@link Deadline} aborted. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * A signal that aborts after a timeout, or with one of its parents. Disposing of it removes the timer and the listeners on the parents:
 * `using deadline = startDeadline(...)`.
 */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

export function startDeadline(
  clock: Clock,
  timeoutMs: number,
  what: string,
  ...parents: readonly (AbortSignal | undefined)[]
): Deadline {
  const controller = new AbortController();
  const cancelTimer = clock.after(timeoutMs, () => {
    controller.abort(new DeadlineExceeded(`${what} took longer than ${timeoutMs} ms`));
  });
  const onParentAbort = ({ target }: { readonly target: EventTarget | null }): void =>
    controller.abort((target as AbortSignal).reason);
  for (const parent of parents) {
    if (parent?.aborted) controller.abort(parent.reason);
    else parent?.addEventListener('abort', onParentAbort, { once: true });
  }
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      cancelTimer();
      for (const parent of parents) parent?.removeEventListener('abort', onParentAbort);
    },
  };
}

/** Resolves when the signal aborts, or at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
