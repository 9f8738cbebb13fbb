import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/** Added to the niceness of the process. The thread then gets a quarter of a busy core, and all of an idle one. */
const NICER = 5;

/**
 * Gives the event loop precedence over this thread on a shared core: the loop serves all clients in slices of a fraction of a millisecond,
 * a thread computes for milliseconds for a few. Has no effect where the system has no priorities of threads.
 */
export function lowerThreadPriority(): void {
  // Only Linux sets the priority of a thread by its ID; elsewhere this would change all threads.
  if (process.platform !== 'linux') return;
  try {
    // PID/task/TID
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), Math.min(19, getPriority() + NICER));
  } catch {
    // Not allowed in every sandbox.
  }
}
