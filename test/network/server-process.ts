import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const START_TIMEOUT_MS = 30_000;

/**
 * Starts a server that is installed in seconds: so the tests fail, and are not skipped, where it is missing.
 *
 * @param ready matches the line that it prints when it serves
 * @throws if it ended before, with what it printed
 */
export async function startServer(command: string, args: readonly string[], ready: RegExp): Promise<ChildProcess> {
  const child = spawn(command, [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      said.push(line);
      if (ready.test(line)) resolve();
    });
  }
  child.once('error', (cause) =>
    reject(new Error(`${command} is not installed: apt-get install ${command}`, { cause })),
  );
  child.once('exit', (code) => reject(new Error(`${command} ended with ${code}:\n${said.join('\n')}`)));
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    reject(new Error(`${command} did not start within ${START_TIMEOUT_MS} ms:\n${said.join('\n')}`));
  }, START_TIMEOUT_MS);
  try {
    await promise;
    return child;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns when it has ended. */
export async function killServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  // Ends one that stands still, too.
  child.kill('SIGKILL');
  await promise;
}
