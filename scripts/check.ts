// node scripts/check.ts [REPORT]: runs every check of the code, all of them even where one fails, and exits non-zero if one did.
// REPORT is a file to write the counts to, as JSON {passed, failed}.
//
// Some of these tools succeed when they find nothing to look at. So each says which files it looked at or how many, and that
// is held against the files that are there.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { unplacedFolders } from './layers.ts';
import { checkSettingsDocs } from './settings-docs.ts';

interface Result {
  readonly ok: boolean;
  /** One line: what was looked at. */
  readonly summary: string;
  /** What is wrong. */
  readonly details: string;
}

const ROOT = join(import.meta.dirname, '..');
const GENERATED = /^src\/[^/]+\/gen\//;

const sources = ['src', 'test', 'bench', 'scripts']
  .flatMap((folder) => filesUnder(join(ROOT, folder)))
  .map((file) => relative(ROOT, file).replaceAll(sep, '/'))
  .filter((file) => /\.(ts|js)$/.test(file));
const written = sources.filter((file) => !GENERATED.test(file));

const steps: Record<string, () => Result> = {
  types,
  format,
  lint,
  layers,
  'dead code': deadCode,
  'generated code': generatedCode,
  settings,
};

let failed = 0;
for (const [name, step] of Object.entries(steps)) {
  const startMs = performance.now();
  const result = step();
  if (!result.ok) {
    failed++;
    console.log(result.details.trimEnd());
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`${result.ok ? 'ok  ' : 'FAIL'} ${name} (${seconds} s): ${result.summary}`);
}
const passed = Object.keys(steps).length - failed;
console.log(`check: ${passed} of ${passed + failed} steps passed`);
const report = process.argv[2];
if (report !== undefined) writeFileSync(report, JSON.stringify({ passed, failed }));
process.exitCode = failed > 0 ? 1 : 0;

function types(): Result {
  const { status, output } = run('tsc', ['--project', '.', '--listFiles', '--pretty', 'false']);
  const lines = output.split('\n');
  const listed = new Set(lines.filter((line) => line.startsWith(`${ROOT}${sep}`)).map((line) => relative(ROOT, line)));
  const missed = sources.filter((file) => !listed.has(file) && !isShadowedByTypes(file));
  const details = lines.filter((line) => !/^(\/|[A-Za-z]:)/.test(line));
  return result(status, missed, `${sources.length - missed.length} files`, details.join('\n'));
}

function format(): Result {
  const { status, output } = run('biome', ['check', '--colors=off', '--max-diagnostics=50', '.']);
  const count = Number(/^Checked (\d+) files?/m.exec(output)?.[1] ?? 0);
  return result(status, count < written.length ? written : [], `${count} files`, output);
}

function lint(): Result {
  const { status, output } = run('oxlint', ['--deny-warnings', '--format', 'json', '.']);
  const parsed = parseLint(output);
  if (parsed === undefined) return { ok: false, summary: 'no report', details: output };
  const details = parsed.diagnostics.map(({ filename, labels, message, code, help }) => {
    const { line, column } = labels[0]?.span ?? { line: 0, column: 0 };
    return `${filename}:${line}:${column}: ${message} [${code}] ${help ?? ''}`;
  });
  const count = parsed.number_of_files;
  return result(status, count < written.length ? written : [], `${count} files`, details.join('\n'));
}

/** The layer rules themselves are part of the lint step; this one sees to it that no folder is without a rule. */
function layers(): Result {
  const folders = new Set(
    sources.filter((file) => /^src\/.+\//.test(file)).map((file) => file.slice('src/'.length, file.lastIndexOf('/'))),
  );
  const unplaced = unplacedFolders([...folders]);
  return {
    ok: unplaced.length === 0 && folders.size > 0,
    summary: `${folders.size} folders of src have their place`,
    details: `no place in scripts/layers.ts: ${unplaced.map((folder) => `src/${folder}`).join(', ') || 'no folder found'}`,
  };
}

function deadCode(): Result {
  const all = run('knip', ['--no-progress', '--treat-config-hints-as-errors']);
  const production = run('knip', ['--no-progress', '--production', '--include', 'files,dependencies']);
  const ok = all.status === 0 && production.status === 0;
  const heading = 'What only tests use is dead code too:\n';
  const details = `${all.status === 0 ? '' : all.output}${production.status === 0 ? '' : heading + production.output}`;
  return { ok, summary: 'files, exports, dependencies', details };
}

function generatedCode(): Result {
  const fresh = mkdtempSync(join(tmpdir(), 'generated-'));
  try {
    const { status, output } = run(process.execPath, ['scripts/generate.ts', fresh]);
    if (status !== 0) return { ok: false, summary: 'could not be generated', details: output };
    const expected = filesUnder(fresh).map((file) => relative(fresh, file).replaceAll(sep, '/'));
    const present = sources.filter((file) => GENERATED.test(file));
    const differing = [...new Set([...expected, ...present])].filter(
      (file) =>
        !present.includes(file) || !expected.includes(file) || !sameContent(join(ROOT, file), join(fresh, file)),
    );
    return {
      ok: differing.length === 0 && expected.length > 0,
      summary: `${expected.length} files`,
      details: `not what proto/ gives (npm run generate): ${differing.join(', ') || 'nothing was generated'}`,
    };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** That config/README.md and the schema of the settings say the same, and that each setting has its words. */
function settings(): Result {
  const { problems } = checkSettingsDocs();
  const details = `${problems.join('\n')}\n(npm run generate writes the tables anew)`;
  return { ok: problems.length === 0, summary: 'config/README.md is what the schema gives', details };
}

function result(status: number, missed: readonly string[], summary: string, details: string): Result {
  const lines = missed.length > 0 ? [details, `not looked at, or not all of them: ${missed.join(', ')}`] : [details];
  return { ok: status === 0 && missed.length === 0, summary, details: lines.join('\n') };
}

interface LintReport {
  readonly number_of_files: number;
  readonly diagnostics: readonly {
    readonly filename: string;
    readonly message: string;
    readonly code?: string;
    readonly help?: string;
    readonly labels: readonly { readonly span: { readonly line: number; readonly column: number } }[];
  }[];
}

function parseLint(output: string): LintReport | undefined {
  try {
    return JSON.parse(output) as LintReport;
  } catch {
    return undefined;
  }
}

function run(command: string, args: readonly string[]): { status: number; output: string } {
  const path = command === process.execPath ? command : join(ROOT, 'node_modules', '.bin', command);
  const { status, stdout, stderr, error } = spawnSync(path, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
  return { status: status ?? 1, output: `${stdout ?? ''}${stderr ?? ''}${error === undefined ? '' : String(error)}` };
}

/** tsc reads x.d.ts in the place of x.js. */
function isShadowedByTypes(file: string): boolean {
  return file.endsWith('.js') && sources.includes(file.replace(/\.js$/, '.d.ts'));
}

function sameContent(a: string, b: string): boolean {
  return readFileSync(a).equals(readFileSync(b));
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
