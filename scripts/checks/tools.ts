import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import {
  type CheckResult,
  filesUnder,
  GENERATED,
  ROOT,
  resultOfTool,
  run,
  sources,
  toProjectPath,
  written,
} from './project.ts';

/** The console's page runs in browsers and has their types; all other code must not. */
const TYPE_PROJECTS = ['.', 'src/console/page'];

export function checkTypes(): CheckResult {
  const runs = TYPE_PROJECTS.map((project) => run('tsc', ['--project', project, '--listFiles', '--pretty', 'false']));
  const lines = runs.flatMap(({ output }) => output.split('\n'));
  const listed = new Set(lines.filter((line) => line.startsWith(`${ROOT}${sep}`)).map(toProjectPath));
  // tsc reads x.d.ts in place of x.js.
  const missed = sources.filter((file) => !listed.has(file) && !listed.has(file.replace(/\.js$/, '.d.ts')));
  const details = lines.filter((line) => !/^(\/|[A-Za-z]:)/.test(line)).join('\n');
  const status = Math.max(...runs.map((one) => one.status));
  return resultOfTool(status, missed, `${sources.length - missed.length} files`, details);
}

export function checkFormat(): CheckResult {
  const { status, output } = run('biome', ['check', '--colors=off', '--max-diagnostics=50', '.']);
  const count = Number(/^Checked (\d+) files?/m.exec(output)?.[1] ?? 0);
  return resultOfTool(status, count < written.length ? written : [], `${count} files`, output);
}

export function checkLint(): CheckResult {
  const { status, output } = run('oxlint', ['--deny-warnings', '.']);
  const count = Number(/ on (\d+) files? /.exec(output)?.[1] ?? 0);
  return resultOfTool(status, count < written.length ? written : [], `${count} files`, output);
}

export function checkDeadCode(): CheckResult {
  const all = run('knip', ['--no-progress', '--treat-config-hints-as-errors']);
  const production = run('knip', ['--no-progress', '--production', '--include', 'files,dependencies']);
  return {
    ok: all.status === 0 && production.status === 0,
    summary: 'files, exports, dependencies',
    details: [
      ...(all.status === 0 ? [] : [all.output]),
      ...(production.status === 0 ? [] : ['Used by tests only:', production.output]),
    ].join('\n'),
  };
}

/** The folders `gen` are what proto/, scripts/bls and the OpenAPI document give. */
export function checkGeneratedCode(): CheckResult {
  const fresh = mkdtempSync(join(tmpdir(), 'generated-'));
  try {
    const { status, output } = run(process.execPath, ['scripts/generate.ts', fresh]);
    if (status !== 0) return { ok: false, summary: 'could not be generated', details: output };
    const expected = filesUnder(fresh).map((file) => relative(fresh, file).replaceAll(sep, '/'));
    const present = sources.filter((file) => GENERATED.test(file));
    const same = new Set(
      expected.filter(
        (file) => present.includes(file) && readFileSync(join(ROOT, file)).equals(readFileSync(join(fresh, file))),
      ),
    );
    const differing = [...new Set([...expected, ...present])].filter((file) => !same.has(file));
    return {
      ok: differing.length === 0 && expected.length > 0,
      summary: `${expected.length} files`,
      details: `differ from what proto/, scripts/bls and the OpenAPI document give (npm run generate): ${differing.join(', ')}`,
    };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
