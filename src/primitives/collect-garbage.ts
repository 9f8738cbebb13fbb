import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects all garbage of this thread at once, which holds it up: for moments in which nobody waits.
 *
 * V8 knows the size of what lives only from its first full collection on, and makes none before the heap has some hundred MB on a
 * machine with much memory. From then on it collects, in small steps, whenever the heap has grown by a share of what lives.
 */
export function collectGarbage(): void {
  exposed()();
}

/**
 * The same several times in a row, until no more is found, with the heap moved together and what it no longer needs given back to the
 * system: some 9 MB after a start, for five times as long.
 */
export function collectAllGarbage(): void {
  exposed()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

function exposed(): (options?: object) => void {
  // Of all threads at once, so it stays: taken back, it could be missing in another thread that is about to collect.
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options?: object) => void;
}
