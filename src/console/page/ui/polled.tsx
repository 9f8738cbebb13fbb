import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { failureOf } from '../console-api.ts';
import { ago, clockTime } from './figures.ts';

export interface Polled<T> {
  /** The last that was loaded, also while loading fails. */
  readonly value: T | undefined;
  readonly error: unknown;
  /** When `value` was loaded, in Unix milliseconds. */
  readonly loadedAt: number;
  /** Time of the first failure after `loadedAt`. */
  readonly failingSince: number;
  /** Time of the last attempt. */
  readonly triedAt: number;
}

const NOT_LOADED = { value: undefined, error: undefined, loadedAt: 0, failingSince: 0, triedAt: 0 };
/** An unreachable service may leave connections open without an answer. */
const TIMEOUT_MS = 15_000;

/** Loads a value again and again while it is shown and the tab is visible. */
export function usePolled<T>(
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number,
  keys: readonly unknown[],
): Polled<T> & { readonly reload: () => void } {
  const [state, setState] = useState<Polled<T>>(NOT_LOADED);
  const [reloads, setReloads] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const update = (next: (before: Polled<T>, now: number) => Polled<T>) => {
      if (!leaving.signal.aborted) setState((before) => next(before, Date.now()));
    };
    const ask = async () => {
      if (!document.hidden) {
        try {
          const value = await load(AbortSignal.any([leaving.signal, AbortSignal.timeout(TIMEOUT_MS)]));
          update((_, now) => ({ ...NOT_LOADED, value, loadedAt: now, triedAt: now }));
        } catch (error) {
          update((before, now) => ({ ...before, error, failingSince: before.failingSince || now, triedAt: now }));
        }
      }
      if (!leaving.signal.aborted) timer = setTimeout(() => void ask(), everyMs);
    };
    void ask();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [...keys, reloads]);
  useEffect(() => setState(NOT_LOADED), keys as unknown[]);
  return { ...state, reload: () => setReloads((before) => before + 1) };
}

/** Greys out a value that can no longer be loaded, and shows its age. */
export function Stale({ polled, children }: { polled: Polled<unknown>; children: ComponentChildren }): ComponentChild {
  const { value, error, loadedAt, triedAt } = polled;
  if (error === undefined) return children;
  const age = value === undefined ? '' : ` These figures are of ${clockTime(loadedAt)}, ${ago(triedAt - loadedAt)}.`;
  return [
    <p class="problem" role="alert">
      {failureOf(error).message}
      {age}
    </p>,
    value !== undefined && <div class="view stale">{children}</div>,
  ];
}
