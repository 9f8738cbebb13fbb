// node scripts/pack-client.ts [FOLDER]: packs warp-signature-aggregator-client into FOLDER (default: .cache/client); prints the path.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { ROOT, run } from './checks/project.ts';

const NAME = 'warp-signature-aggregator-client';
const SOURCE = join(ROOT, 'src', 'client');
const FORMATS = [
  ['cjs', 'index.js'],
  ['esm', 'index.mjs'],
] as const;
const TYPES = './types/package-entry.d.ts';

/**
 * @param repository URL that the package names
 * @returns the path of the tarball
 */
export async function packClient(folder: string, repository?: string): Promise<string> {
  const staging = mkdtempSync(join(tmpdir(), 'client-'));
  try {
    for (const [format, file] of FORMATS) {
      await build({
        entryPoints: [join(SOURCE, 'package-entry.ts')],
        outfile: join(staging, file),
        bundle: true,
        format,
        platform: 'neutral',
        mainFields: ['module', 'main'],
        // What Node 20 and browsers of 2022 run.
        target: 'es2022',
        minify: true,
        charset: 'utf8',
        legalComments: 'inline',
      });
    }
    writeTypes(staging);
    writeFileSync(join(staging, 'package.json'), `${JSON.stringify(manifest(repository), undefined, 2)}\n`);
    copyFileSync(join(SOURCE, 'README.md'), join(staging, 'README.md'));
    copyFileSync(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    mkdirSync(folder, { recursive: true });
    const output = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
      cwd: staging,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 2],
    });
    return join(folder, output.trim());
  } finally {
    rmSync(staging, { recursive: true });
  }
}

function writeTypes(staging: string): void {
  const types = join(staging, 'types');
  const { status, output } = run('tsc', ['--project', join(SOURCE, 'tsconfig.json'), '--outDir', types]);
  if (status !== 0) throw new Error(output);
  for (const name of readdirSync(types, { encoding: 'utf8', recursive: true })) {
    if (!name.endsWith('.ts')) continue;
    const path = join(types, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
  // The declarations are of CommonJS. An ES module must not take them for its own.
  writeFileSync(join(staging, 'index.d.mts'), `export * from './types/package-entry.js';\n`);
}

function manifest(repository: string | undefined) {
  const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, string>;
  return {
    name: NAME,
    version,
    description: 'Client of the Warp signature aggregator: signed Avalanche Warp messages, and how to deliver them',
    license,
    ...(repository !== undefined && { repository: { type: 'git', url: repository, directory: 'src/client' } }),
    main: './index.js',
    module: './index.mjs',
    types: TYPES,
    exports: {
      '.': {
        import: { types: './index.d.mts', default: './index.mjs' },
        default: { types: TYPES, default: './index.js' },
      },
    },
    files: ['index.js', 'index.mjs', 'index.d.mts', 'types'],
    sideEffects: false,
    engines: { node: '>=20' },
    publishConfig: { access: 'public' },
  };
}

if (import.meta.main) console.log(await packClient(resolve(process.argv[2] ?? join(ROOT, '.cache', 'client'))));
