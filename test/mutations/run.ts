// npm run test:mutations [-- TEXT]: plants each bug of bugs.ts (those whose name contains TEXT) in a copy of the project and runs the tests
// named beside it, which have to fail. Exits with 1 where tests passed, or where a bug cannot be planted any more. Those that the
// simulation finds are tests of `npm run test:simulation`.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BugOfTests, PLANTED_BUGS } from './bugs.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPY = join(ROOT, '.cache/mutations');
const VITEST = join(COPY, 'node_modules/vitest/vitest.mjs');

/** Ends what hangs, which a bug may cause. */
const MAX_RUN_MS = 900_000;

const wanted = process.argv[2] ?? '';
const bugs = PLANTED_BUGS.filter((bug) => 'tests' in bug).filter(({ name }) => name.includes(wanted));
copyProject();
// Without a bug all of these tests pass; otherwise their failure would prove nothing.
if (!(await passes([...new Set(bugs.flatMap(({ tests }) => tests))], 'inherit')))
  throw new Error('the tests fail without a bug');
const survivors: string[] = [];
for (const bug of bugs) {
  const outcome = await tryBug(bug);
  if (outcome !== 'killed') survivors.push(bug.name);
  console.log(`${outcome === 'killed' ? 'ok  ' : 'FAIL'} ${outcome}: ${bug.name} (${bug.file})`);
}
rmSync(COPY, { recursive: true, force: true });
console.log(`${bugs.length - survivors.length} of ${bugs.length} planted bugs killed`);
process.exitCode = survivors.length > 0 || bugs.length === 0 ? 1 : 0;

function copyProject(): void {
  rmSync(COPY, { recursive: true, force: true });
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of files.trim().split('\n')) {
    mkdirSync(join(COPY, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(COPY, file), { force: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(COPY, 'node_modules'));
}

/** @returns whether the tests of the copy pass; ends their process group, because a failed test may leave a service running */
async function passes(tests: readonly string[], output: 'ignore' | 'inherit' = 'ignore'): Promise<boolean> {
  const run = spawn(process.execPath, [VITEST, 'run', '--bail=1', '--reporter=dot', ...tests], {
    cwd: COPY,
    stdio: ['ignore', output, output],
    detached: true,
    timeout: MAX_RUN_MS,
  });
  const [code] = (await once(run, 'exit')) as [number | null];
  endGroup(run.pid);
  return code === 0;
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The group has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function tryBug({ file, find, replace, tests }: BugOfTests): Promise<'killed' | 'survived' | 'not found once'> {
  const path = join(COPY, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(find).length !== 2) return 'not found once';
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
  const survived = await passes(tests);
  writeFileSync(path, text);
  return survived ? 'survived' : 'killed';
}
