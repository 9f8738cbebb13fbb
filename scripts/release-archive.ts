import { execFileSync } from 'node:child_process';
import { copyFileSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** The names of the two kinds of CPU in archives, and in npm packages. */
const CPUS = { amd64: 'x64', arm64: 'arm64' } as const;
export type ArchiveCpu = keyof typeof CPUS;
const PROGRAM = 'signature-aggregator';

/**
 * Makes `signature-aggregator_VERSION_linux_CPU.tar.gz` for both kinds of CPU, as tools download the Go aggregator: at the top both programs,
 * beside them the Node that runs them. There are no links in it, which some of these tools leave out.
 *
 * @param folder where the archives go
 * @returns their paths
 */
export function buildArchives(folder: string, cpus: readonly ArchiveCpu[] = ['amd64', 'arm64']): string[] {
  const staging = mkdtempSync(join(tmpdir(), 'archives-'));
  try {
    mkdirSync(folder, { recursive: true });
    // Compiles, and takes what the package takes.
    run(ROOT, 'npm', 'pack', '--silent', '--pack-destination', staging);
    const [packed = ''] = readdirSync(staging);
    return cpus.map((name) => {
      const root = join(staging, name);
      mkdirSync(root);
      run(root, 'tar', '-xzf', join(staging, packed), '--strip-components=1');
      installDependencies(root, CPUS[name]);
      for (const program of [PROGRAM, `warp-${PROGRAM}`])
        copyFileSync(join(root, 'dist', 'src', program), join(root, program));
      return pack(root, join(folder, `${PROGRAM}_${versionOf(root)}_linux_${name}.tar.gz`));
    });
  } finally {
    rmSync(staging, { recursive: true });
  }
}

/** Installs dependencies like the Dockerfile, and moves the Node of the optional package to the top. */
function installDependencies(root: string, cpu: string): void {
  for (const file of ['package-lock.json', '.npmrc']) copyFileSync(join(ROOT, file), join(root, file));
  run(root, 'npm', 'ci', '--omit=dev', '--ignore-scripts', '--os=linux', '--libc=glibc', `--cpu=${cpu}`);
  const modules = join(root, 'node_modules');
  const node = `node-linux-${cpu}`;
  copyFileSync(join(modules, node, 'bin', 'node'), join(root, 'node'));
  copyFileSync(join(modules, node, 'LICENSE'), join(root, 'node.LICENSE'));
  for (const unneeded of [
    join(modules, node),
    join(modules, '.bin'),
    join(root, 'package-lock.json'),
    join(root, '.npmrc'),
  ]) {
    rmSync(unneeded, { recursive: true });
  }
}

function pack(root: string, archive: string): string {
  const links = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
    lstatSync(join(root, path)).isSymbolicLink(),
  );
  if (links.length > 0) throw new Error(`the archive must have no links: ${links.join(', ')}`);
  // Without `./` before the names, so that a program is found by its own.
  run(root, 'tar', '-czf', archive, '--sort=name', '--owner=0', '--group=0', '--numeric-owner', ...readdirSync(root));
  return archive;
}

function versionOf(root: string): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

function run(cwd: string, command: string, ...args: string[]): void {
  // What is printed for the next step stays alone on standard output.
  execFileSync(command, args, { cwd, stdio: ['ignore', 2, 2] });
}
