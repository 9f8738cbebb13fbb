import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/**
 * More of nice than the process has. The thread then gets a quarter of a core that another wants wholly, and all of one that no thread
 * wants.
 */
const NICER = 5;

/**
 * Lets the event loop go before this thread if both want one core. It serves all clients in turns of a fraction of a millisecond; a
 * thread computes for milliseconds for a few. Where the system knows no priorities of single threads, nothing changes.
 */
export function lowerThreadPriority(): void {
  // Linux alone names a thread where others name a process; there, this would be for all threads.
  if (process.platform !== 'linux') return;
  try {
    // PID/task/TID
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), Math.min(19, getPriority() + NICER));
  } catch {
    // Not allowed in every sandbox.
  }
}
