// Plain JavaScript that parses under any Node with ES modules, as require-node.js.

import { createRequire } from 'node:module';

/** The oldest Node that this project runs under. */
export const MINIMUM_MAJOR = 24;

/** Caps the young generation: V8 would let it grow to 128 MB. The npm script and the image start Node with it too. */
const MEMORY_FLAG = '--max-semi-space-size=4';

/** @param {string} version such as 24.1.0 */
export function isNewEnough(version) {
  return Number.parseInt(version, 10) >= MINIMUM_MAJOR;
}

/**
 * Where the Node is that comes as an optional package for hosts whose own is older; undefined where there is none for this one.
 *
 * @returns {string | undefined}
 */
export function findNewerNode() {
  const { resolve } = createRequire(import.meta.url);
  const host = `${process.platform}-${process.arch}`;
  for (const name of [`node-${host}`, `node-bin-${host}`]) {
    try {
      return resolve(`${name}/bin/node`);
    } catch {
      // It is not for this host, or was left out when the packages were installed.
    }
  }
  return undefined;
}

/** The name that {@link runUnder} gives its child. */
const LAUNCHED = 'warp-signature-aggregator';

/**
 * Becomes this program under that Node, in the same process where this Node can replace itself; else runs it as a child and ends as
 * it ends.
 *
 * @param {string} node
 */
export async function runUnder(node) {
  const args = [MEMORY_FLAG, ...process.execArgv, ...process.argv.slice(1)];
  // Since Node 22.15. It does not return.
  process.execve?.(node, [node, ...args]);

  // Not needed where this Node is new enough, and some milliseconds of the start.
  const { spawn } = await import('node:child_process');
  const child = spawn(node, args, { argv0: LAUNCHED, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to both, and the second one that the service gets ends it at once.
      if (signal !== 'SIGINT' || process.stdin.isTTY !== true) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`${node} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** Ends this process with the launcher that runs it, if there is one: the system closes the channel however the launcher died. */
export function endWithLauncher() {
  if (process.argv0 !== LAUNCHED) return;
  process.on('disconnect', () => process.exit(1));
  // The channel alone does not keep this process running.
  process.channel?.unref();
  // The launcher may have died before.
  if (process.connected === false) process.exit(1);
}
