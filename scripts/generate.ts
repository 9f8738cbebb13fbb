// node scripts/generate.ts [OUTPUT]: writes the code generated from proto/ and the assembled code of src/bls into OUTPUT (default: this
// project), without network.
// Without OUTPUT it then writes the reference tables of docs/ from the source, too, and the dashboards of deploy/grafana.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { assembledCode } from './bls/assembled-code.ts';
import { dashboardFiles } from './dashboards/dashboard-files.ts';

const ROOT = join(import.meta.dirname, '..');
const GENERATED = [
  { folder: 'src/p2p/gen', files: ['p2p.proto'] },
  { folder: 'src/warp/gen', files: ['platformvm.proto', 'sdk.proto'] },
];

const output = resolve(process.argv[2] ?? ROOT);
const bin = join(ROOT, 'node_modules', '.bin');
for (const { folder, files } of GENERATED) {
  const target = join(output, folder);
  rmSync(target, { recursive: true, force: true });
  const paths = files.flatMap((file) => ['--path', `proto/${file}`]);
  execFileSync(join(bin, 'buf'), ['generate', '--template', 'buf.gen.yaml', '--output', target, ...paths], {
    cwd: ROOT,
    stdio: 'inherit',
    // buf looks for its plugin, protoc-gen-es, on the PATH.
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
  });
}
mkdirSync(join(output, 'src/bls/gen'), { recursive: true });
writeFileSync(join(output, 'src/bls/gen/fused.ts'), assembledCode());

if (process.argv[2] === undefined) {
  // Not before: the source that they are read from imports the generated code.
  const { REFERENCES } = await import('./docs/references.ts');
  const { withTable } = await import('./docs/reference-table.ts');
  for (const read of Object.values(REFERENCES)) {
    const { table, problems } = await read();
    const file = join(ROOT, table.file);
    writeFileSync(file, withTable(readFileSync(file, 'utf8'), table));
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
  }
  execFileSync(process.execPath, [join(import.meta.dirname, 'settings-docs.ts')], { stdio: 'inherit' });
  for (const [path, text] of dashboardFiles()) writeFileSync(join(ROOT, path), text);
}
