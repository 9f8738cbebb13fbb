import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unplacedFolders, wrongImports } from '../../../scripts/layers.ts';

// The linter runs on a small project that breaks the rules, under this project's own configuration: a rule that is
// misspelt, or that does not see type-only imports, passes the real code as if all were well.

const ROOT = join(import.meta.dirname, '../../..');

const RULES: { rule: string; file: string; text: string }[] = [
  {
    rule: 'typescript(no-floating-promises)',
    file: 'src/p2p/floating.ts',
    text: 'export function start(work: () => Promise<void>): void {\n  work();\n}\n',
  },
  {
    rule: 'typescript(no-misused-promises)',
    file: 'src/p2p/misused.ts',
    text: 'export function each(work: () => Promise<void>): void {\n  [1].forEach(async () => await work());\n}\n',
  },
  {
    rule: 'typescript(switch-exhaustiveness-check)',
    file: 'src/p2p/switch.ts',
    text: "export function f(kind: 'a' | 'b'): void {\n  switch (kind) {\n    case 'a':\n      return;\n  }\n}\n",
  },
  {
    rule: 'import(no-cycle)',
    file: 'src/p2p/cycle.ts',
    text: "import { b } from './cycle-end.ts';\nexport const a = () => b;\n",
  },
  {
    rule: 'import(no-cycle)',
    file: 'src/p2p/cycle-end.ts',
    text: "import { a } from './cycle.ts';\nexport const b = () => a;\n",
  },
  {
    rule: 'import(no-cycle)',
    file: 'src/p2p/type-cycle.ts',
    text: "import type { B } from './type-cycle-end.ts';\nexport type A = { b?: B };\n",
  },
  {
    rule: 'import(no-cycle)',
    file: 'src/p2p/type-cycle-end.ts',
    text: "import type { A } from './type-cycle.ts';\nexport type B = { a?: A };\n",
  },
  { rule: 'node(no-process-env)', file: 'src/api/env.ts', text: "export const a = process.env['A'];\n" },
  {
    rule: 'eslint(no-restricted-imports)',
    file: 'src/api/env-imported.ts',
    text: "import { env } from 'node:process';\nexport const a = env;\n",
  },
  {
    rule: 'eslint(no-restricted-imports)',
    file: 'src/p2p/http.ts',
    text: "import { request } from 'node:http';\nexport const a = request;\n",
  },
  ...['src/p2p/prom.ts', 'src/api/prom-counter.ts'].map((file) => ({
    rule: 'eslint(no-restricted-imports)',
    file,
    text: "import { Counter } from 'prom-client';\nexport const a = Counter;\n",
  })),
  {
    rule: 'eslint(no-restricted-imports)',
    file: 'src/p2p/imports-test.ts',
    text: "import { thing } from '../../test/target.ts';\nexport const a = thing;\n",
  },
  {
    rule: 'eslint(no-restricted-globals)',
    file: 'src/p2p/turn.ts',
    text: 'export const a = (callback: () => void) => setImmediate(callback);\n',
  },
  ...['node:timers', 'timers/promises'].map((module) => ({
    rule: 'eslint(no-restricted-imports)',
    file: `src/p2p/turn-of-${module.replaceAll(/\W/g, '-')}.ts`,
    text: `import { setImmediate as nextTurn } from '${module}';\nexport const a = nextTurn;\n`,
  })),
  { rule: 'eslint(no-console)', file: 'src/api/console.ts', text: "console.log('here');\n" },
  {
    rule: 'typescript(consistent-type-imports)',
    file: 'src/warp/import-type.ts',
    text: "export type Used = import('../p2p/target.ts').Thing;\n",
  },
  {
    rule: 'vitest(no-disabled-tests)',
    file: 'test/unit/skipped.test.ts',
    text: "import { expect, test } from 'vitest';\ntest.skip('a', () => expect(1).toBe(1));\n",
  },
  {
    rule: 'vitest(no-focused-tests)',
    file: 'test/unit/focused.test.ts',
    text: "import { expect, test } from 'vitest';\ntest.only('a', () => expect(1).toBe(1));\n",
  },
];

const EXEMPT: { file: string; text: string }[] = [
  { file: 'src/config/env.ts', text: "export const a = process.env['A'];\n" },
  { file: 'src/devnet/banner.ts', text: "console.log('here');\n" },
  { file: 'src/cli/print.ts', text: "console.log('here');\n" },
  { file: 'src/api/prom.ts', text: "import { Registry } from 'prom-client';\nexport const a = Registry;\n" },
  {
    file: 'src/telemetry/metrics.ts',
    text: "import { Counter } from 'prom-client';\nimport { thing } from '../lib/target.ts';\nexport const a = [Counter, thing];\n",
  },
  {
    file: 'src/lib/concurrency/clock.ts',
    text: 'export const a = (callback: () => void) => setImmediate(callback);\n',
  },
  { file: 'src/lib/net/node-http.ts', text: "export { request } from 'node:http';\n" },
  { file: 'test/unit/env.ts', text: "export const a = process.env['A'];\n" },
];

let project: string;
let found: Map<string, string[]>;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'lint-rules-'));
  const target = 'export const thing = 1;\nexport type Thing = number;\n';
  for (const file of ['src/lib/target.ts', 'src/p2p/target.ts', 'test/target.ts']) write(file, target);
  for (const { file, text } of [...RULES, ...EXEMPT]) write(file, text);
  write('tsconfig.json', JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: ['src', 'test'] }));
  write('oxlint.config.ts', `export { default } from ${JSON.stringify(join(ROOT, 'oxlint.config.ts'))};\n`);
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'));

  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '--format', 'json', 'src', 'test'], {
    cwd: project,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (stderr !== '') throw new Error(stderr);
  const report = JSON.parse(stdout) as { diagnostics: { filename: string; code: string }[] };
  found = new Map();
  for (const { filename, code } of report.diagnostics) found.set(filename, [...(found.get(filename) ?? []), code]);
}, 60_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

function write(file: string, text: string): void {
  const path = join(project, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

test.each([
  ['the same folder', 'src/p2p/wire/a.ts', 'src/p2p/wire/b.ts', true],
  ['a folder of a lower layer', 'src/p2p/a.ts', 'src/p2p/wire/b.ts', true],
  ['a folder of a higher layer', 'src/p2p/wire/a.ts', 'src/p2p/b.ts', false],
  ['settings, by the network', 'src/network/a.ts', 'src/config/settings.ts', true],
  ['settings, by a route', 'src/api/a.ts', 'src/config/settings.ts', false],
  ['a folder without a layer', 'src/app.ts', 'src/utils/a.ts', false],
])('an import from %s', (_, from, to, isAllowed) => {
  expect(wrongImports([{ from, to }]).length === 0).toBe(isAllowed);
});

test('a folder without a layer is reported', () => {
  expect(unplacedFolders(['warp', 'warp/gen', 'utils', 'api/health/deeper'])).toEqual(['utils', 'api/health/deeper']);
});

describe('rules', () => {
  test.each(RULES)('$rule refuses $file', ({ rule, file }) => {
    expect(found.get(file)).toContain(rule);
  });

  test.each(EXEMPT)('$file is exempt', ({ file }) => {
    expect(found.get(file)).toBeUndefined();
  });
});
