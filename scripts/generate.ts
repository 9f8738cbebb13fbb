// node scripts/generate.ts [OUTPUT]: writes the code generated from proto/, scripts/bls and the OpenAPI document into OUTPUT (default: this
// project).
// Without OUTPUT it also writes the references of the documents.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { assembledCode } from './bls/assembled-code.ts';
import { installPrograms } from './installed-packages.ts';

const ROOT = join(import.meta.dirname, '..');
const GENERATED = [
  { folder: 'src/p2p/gen', files: ['p2p.proto'] },
  { folder: 'src/warp/gen', files: ['platformvm.proto', 'sdk.proto'] },
];

const output = resolve(process.argv[2] ?? ROOT);
/** Has buf and its plugin. */
const bin = await installPrograms('scripts/generators');
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

// Imported late, because the service imports the generated code.
const { clientCode } = await import('./docs/client-code.ts');
mkdirSync(join(output, 'src/client/gen'), { recursive: true });
for (const [path, text] of await clientCode()) writeFileSync(join(output, path), text);

if (process.argv[2] === undefined) {
  const { generatedFiles } = await import('./docs/generated-files.ts');
  const { files, problems } = await generatedFiles();
  for (const [path, text] of files) writeFileSync(join(ROOT, path), text);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
