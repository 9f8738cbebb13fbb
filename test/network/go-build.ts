import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Go is not installed: the one reason for which the tests on a real network may be skipped. */
export class GoMissingError extends Error {
  override readonly name = 'GoMissingError';
}

/** The first build of the node takes three to four minutes on two busy cores, its downloads half a minute. */
const BUILD_TIMEOUT_MS = 25 * 60_000;
/** How much of a failed build's output goes into the error: the end has the reason. */
const MAX_OUTPUT_CHARACTERS = 8_000;
const LOW_PRIORITY = 10;
/** Without optimizations and symbols for debuggers the first build takes a third less time. */
const QUICKLY = ['-gcflags=all=-N -l -dwarf=false', '-ldflags=-w'];

const built = new Map<string, Promise<string>>();
let latest: Promise<unknown> = Promise.resolve();

/**
 * Builds programs of a Go module, once in a process, below the priority of the tests that run meanwhile. Go's cache makes every build but
 * the first one quick. Modules are built one after the other, because each build uses all cores.
 *
 * @param module a folder beside this file
 * @param packages of the module or of its dependencies
 * @returns the folder with the programs, named by the last parts of their packages
 */
export function goBuild(
  module: 'go' | 'go-chart' | 'go-clients' | 'reference',
  packages: readonly string[],
  { isOptimized = false }: { readonly isOptimized?: boolean } = {},
): Promise<string> {
  const output = join(import.meta.dirname, '.build', isOptimized ? `${module}-optimized` : module);
  const build = built.get(output) ?? latest.then(() => run(module, packages, { output, isOptimized }));
  built.set(output, build);
  latest = build.catch(() => undefined);
  return build;
}

async function run(
  module: string,
  packages: readonly string[],
  { output, isOptimized }: { readonly output: string; readonly isOptimized: boolean },
): Promise<string> {
  const startMs = performance.now();
  const args = ['build', ...(isOptimized ? [] : QUICKLY), '-o', `${output}/`, ...packages];
  await go(module, args);
  console.log(`built ${packages.join(', ')} in ${((performance.now() - startMs) / 1_000).toFixed(1)} s`);
  return output;
}

/**
 * Runs the `go` command in the folder of a module; returns what it prints.
 *
 * @throws {GoMissingError} without a `go` to call
 */
export async function go(module: string, args: readonly string[]): Promise<string> {
  const child = spawn('go', args, {
    cwd: join(import.meta.dirname, module),
    timeout: BUILD_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  }).catch((cause: unknown) => {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    throw isMissing ? new GoMissingError('Go is not installed: the real nodes cannot be built', { cause }) : cause;
  });
  if (child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY);
  const [exit, out, errors] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  if (exit !== 0) throw new Error(`go ${args.join(' ')} ended with ${exit}:\n${errors.slice(-MAX_OUTPUT_CHARACTERS)}`);
  return out;
}
