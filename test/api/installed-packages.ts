import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const TIMEOUT_MS = 300_000;

/**
 * Installs the packages that a folder of this one lists, once for each list.
 *
 * @param cache folder for the packages
 * @param name of the folder
 * @returns the folder with `node_modules`, or what went wrong
 */
export async function installPackages(cache: string, name: string): Promise<{ folder: string } | { problem: string }> {
  const source = join(import.meta.dirname, name);
  const lock = readFileSync(join(source, 'package-lock.json'));
  const folder = join(cache, `${name}-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`);
  if (existsSync(join(folder, 'complete'))) return { folder };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(source, file), join(folder, file));
  const problem = await runProgram(folder, 'npm', ['ci', '--ignore-scripts', '--silent']);
  if (problem !== undefined) return { problem };
  writeFileSync(join(folder, 'complete'), '');
  return { folder };
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
