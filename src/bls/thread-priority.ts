import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/** Of nice, where 0 is usual. At 5 a thread gets a quarter of a core that one at 0 wants wholly, and all that nobody wants. */
const NICE = 5;

/**
 * Lets the event loop go before this thread where both want one core. It serves everybody in turns of a fraction of a millisecond; a
 * thread computes for milliseconds for a few. Where the system knows no priorities of single threads, nothing changes.
 */
export function lowerThreadPriority(): void {
  // Linux alone names a thread where others name a process; there, this would be for all threads.
  if (process.platform !== 'linux') return;
  try {
    // PID/task/TID
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICE);
  } catch {
    // Not allowed in every sandbox.
  }
}
