import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unplacedFolders, wrongImports } from '../../../scripts/layers.ts';

// The linter runs on a small project that breaks the rules, under this project's own configuration: a rule that is
// misspelt, or that does not see type-only imports, passes the real code as if all were well.

const ROOT = join(import.meta.dirname, '../../..');

const RESTRICTED = 'eslint(no-restricted-imports)';
const importing = (name: string, module: string) => `import { ${name} } from '${module}';\nexport const a = ${name};\n`;
const IMMEDIATE = 'export const a = (callback: () => void) => setImmediate(callback);\n';
const ENV = "export const a = process.env['A'];\n";
const LOG = "console.log('here');\n";
const testFile = (kind: string) =>
  importing('expect, test', 'vitest').replace(/export.*/, `test.${kind}('a', () => expect(1).toBe(1));`);

const RULES: readonly (readonly [rule: string, file: string, text: string])[] = [
  [
    'typescript(no-floating-promises)',
    'src/p2p/floating.ts',
    'export function start(work: () => Promise<void>): void {\n  work();\n}\n',
  ],
  [
    'typescript(no-misused-promises)',
    'src/p2p/misused.ts',
    'export function each(work: () => Promise<void>): void {\n  [1].forEach(async () => await work());\n}\n',
  ],
  [
    'typescript(switch-exhaustiveness-check)',
    'src/p2p/switch.ts',
    "export function f(kind: 'a' | 'b'): void {\n  switch (kind) {\n    case 'a':\n      return;\n  }\n}\n",
  ],
  ['import(no-cycle)', 'src/p2p/cycle.ts', "import { b } from './cycle-end.ts';\nexport const a = () => b;\n"],
  ['import(no-cycle)', 'src/p2p/cycle-end.ts', "import { a } from './cycle.ts';\nexport const b = () => a;\n"],
  [
    'import(no-cycle)',
    'src/p2p/type-cycle.ts',
    "import type { B } from './type-cycle-end.ts';\nexport type A = { b?: B };\n",
  ],
  [
    'import(no-cycle)',
    'src/p2p/type-cycle-end.ts',
    "import type { A } from './type-cycle.ts';\nexport type B = { a?: A };\n",
  ],
  ['node(no-process-env)', 'src/api/env.ts', ENV],
  [RESTRICTED, 'src/api/env-imported.ts', importing('env', 'node:process')],
  [RESTRICTED, 'src/p2p/http.ts', importing('request', 'node:http')],
  [RESTRICTED, 'src/p2p/prom.ts', importing('Counter', 'prom-client')],
  [RESTRICTED, 'src/api/prom-counter.ts', importing('Counter', 'prom-client')],
  [RESTRICTED, 'src/p2p/imports-test.ts', importing('thing', '../../test/target.ts')],
  [RESTRICTED, 'src/p2p/turn-of-timers.ts', importing('setImmediate', 'node:timers')],
  [RESTRICTED, 'src/p2p/turn-of-promises.ts', importing('setImmediate', 'timers/promises')],
  ['eslint(no-restricted-globals)', 'src/p2p/turn.ts', IMMEDIATE],
  ['eslint(no-console)', 'src/api/console.ts', LOG],
  ['typescript(consistent-type-imports)', 'src/warp/type.ts', "export type Used = import('../p2p/target.ts').Thing;\n"],
  ['vitest(no-disabled-tests)', 'test/unit/skipped.test.ts', testFile('skip')],
  ['vitest(no-focused-tests)', 'test/unit/focused.test.ts', testFile('only')],
];

let project: string;
let found: Map<string, string[]>;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'lint-rules-'));
  const target = 'export const thing = 1;\nexport type Thing = number;\n';
  for (const file of ['src/lib/target.ts', 'src/p2p/target.ts', 'test/target.ts']) write(file, target);
  for (const [, file, text] of RULES) write(file, text);
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

test.each(RULES)('%s refuses %s', (rule, file) => {
  expect(found.get(file)).toContain(rule);
});
