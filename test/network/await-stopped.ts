import { execFile } from 'node:child_process';
import { platform } from 'node:os';
import { promisify } from 'node:util';

/** Milliseconds even where the machine is busy. */
const TIMEOUT_MS = 10_000;
/** Prints a line for each thread; `ps` has this flag on Linux only. */
const PS_ARGUMENTS = ['-A', ...(platform() === 'linux' ? ['-L'] : []), '-o', 'pid=,pgid=,stat='];

/**
 * Returns when all threads of a process, or of its whole group, that was sent SIGSTOP stand still. The system returns from
 * `kill` before: a thread that runs on another core meanwhile can still answer a request.
 */
export async function awaitStopped(pid: number, options: { wholeGroup: boolean }): Promise<void> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  for (;;) {
    deadline.throwIfAborted();
    const { stdout } = await promisify(execFile)('ps', PS_ARGUMENTS);
    const states = stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => Number(columns[options.wholeGroup ? 1 : 0]) === pid)
      .map((columns) => columns[2] as string);
    // A zombie cannot run either.
    if (states.length > 0 && states.every((state) => /^[TZ]/.test(state))) return;
  }
}
