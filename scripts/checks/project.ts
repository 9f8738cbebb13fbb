import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** The result of a step of `npm run check`. */
export interface CheckResult {
  readonly ok: boolean;
  /** What was checked, in one line. */
  readonly summary: string;
  /** The problems, printed on failure and with `--details`. */
  readonly details: string;
}

export const ROOT = join(import.meta.dirname, '../..');
export const GENERATED = /^src\/[^/]+\/gen\//;

/** Every file of code, relative to the project, with forward slashes. */
export const sources: readonly string[] = ['src', 'test', 'bench', 'scripts', 'examples']
  .flatMap((folder) => filesUnder(join(ROOT, folder)))
  .map(toProjectPath)
  .filter((file) => /\.(ts|tsx|js)$/.test(file));

/** The sources without generated code. */
export const written: readonly string[] = sources.filter((file) => !GENERATED.test(file));

export function toProjectPath(file: string): string {
  return relative(ROOT, file).replaceAll(sep, '/');
}

export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Runs a program of node_modules/.bin, or this Node. */
export function run(command: string, args: readonly string[]): { status: number; output: string } {
  const path = command === process.execPath ? command : join(ROOT, 'node_modules', '.bin', command);
  const { status, stdout, stderr, error } = spawnSync(path, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
  return { status: status ?? 1, output: `${stdout ?? ''}${stderr ?? ''}${error === undefined ? '' : String(error)}` };
}

/** The result of a tool. It fails when it missed files, because some tools succeed when they find none. */
export function resultOfTool(status: number, missed: readonly string[], summary: string, details: string): CheckResult {
  const lines = missed.length > 0 ? [details, `not looked at, or not all of them: ${missed.join(', ')}`] : [details];
  return { ok: status === 0 && missed.length === 0, summary, details: lines.join('\n') };
}

/** The result of a check that reports a sentence for each problem. */
export function resultOfProblems(problems: readonly string[], summary: string): CheckResult {
  return { ok: problems.length === 0, summary, details: problems.join('\n') };
}
