import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const TIMEOUT_MS = 300_000;

/** The packages of every list are installed below it. */
const CACHE = join(ROOT, '.cache');

/**
 * Installs the packages that a folder lists beside those of the project, once for each list: what only one suite or `npm run generate` needs.
 *
 * @param source path of the folder from that of the project
 * @returns the folder with `node_modules`, or what went wrong
 */
export async function installPackages(source: string): Promise<{ folder: string } | { problem: string }> {
  const lock = readFileSync(join(ROOT, source, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = join(CACHE, `${basename(source)}-${hash}`);
  if (existsSync(join(folder, 'complete'))) return { folder };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(ROOT, source, file), join(folder, file));
  const problem = await runProgram(folder, 'npm', ['ci', '--ignore-scripts', '--silent']);
  if (problem !== undefined) return { problem };
  writeFileSync(join(folder, 'complete'), '');
  return { folder };
}

/** @returns the folder of the programs of such packages. @throws if they cannot be installed */
export async function installPrograms(source: string): Promise<string> {
  const installed = await installPackages(source);
  if ('problem' in installed) throw new Error(`the packages of ${source} cannot be installed: ${installed.problem}`);
  return join(installed.folder, 'node_modules', '.bin');
}

/**
 * Runs a program. Not synchronously: the service may be in this process.
 *
 * @returns what went wrong; undefined if nothing did
 */
export async function runProgram(
  cwd: string,
  command: string,
  args: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<string | undefined> {
  try {
    await promisify(execFile)(command, [...args], { cwd, timeout: TIMEOUT_MS, env: { ...process.env, ...variables } });
    return undefined;
  } catch (error) {
    const { message, stdout = '' } = error as { message: string; stdout?: string };
    return `${message}\n${stdout}`;
  }
}
