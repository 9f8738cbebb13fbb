// Plain JavaScript that parses under any Node with ES modules, as require-node.js.

import { createRequire } from 'node:module';

/** The oldest Node that this project runs under. */
export const MINIMUM_MAJOR = 24;

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

/**
 * Runs this program once more under that Node, and ends as it ends.
 *
 * @param {string} node
 */
export async function runUnder(node) {
  // Not needed where this Node is new enough, and some milliseconds of the start.
  const { spawn } = await import('node:child_process');
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' });
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
