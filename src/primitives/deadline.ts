import type { Clock } from './clock.ts';

/** The reason of a signal that a {@link Deadline} aborted. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * A signal that aborts after `timeoutMs`, or with its parent. Dispose it when the work is done, so that neither the timer
 * nor the listener on a long-lived parent stays behind: `using deadline = startDeadline(...)`.
 */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

export function startDeadline(clock: Clock, timeoutMs: number, what: string, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  const cancelTimer = clock.after(timeoutMs, () => {
    controller.abort(new DeadlineExceeded(`${what} took longer than ${timeoutMs} ms`));
  });
  const onParentAbort = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) onParentAbort();
  else parent?.addEventListener('abort', onParentAbort, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      cancelTimer();
      parent?.removeEventListener('abort', onParentAbort);
    },
  };
}
