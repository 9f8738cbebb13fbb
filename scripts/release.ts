// node scripts/release.ts COMMAND: the steps of a release, which .github/workflows/release.yml runs, and any machine can.
//
//   check TAG           that the tag, package.json, CHANGELOG.md and the chart name the same version, and that nothing is uncommitted
//   test                npm ci, the tests and all checks
//   image NAME [--push] builds the image for both kinds of CPU; prints image=NAME, and digest=… where it was pushed
//   package [--push]    publishes the npm packages of the service and its client, with a statement of where they were built; without --push a dry run
//   archives            signature-aggregator_VERSION_linux_amd64.tar.gz and arm64, and the client's package, in .cache/release; prints their paths
//   notes               what CHANGELOG.md says of the version

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packClient } from './pack-client.ts';
import { buildArchives } from './release-archive.ts';

const ROOT = join(import.meta.dirname, '..');
const PLATFORMS = 'linux/amd64,linux/arm64';

export interface ReleaseFiles {
  /** The text of CHANGELOG.md. */
  readonly changelog: string;
  /** The text of the chart's Chart.yaml. */
  readonly chart: string;
  /** What `git status --porcelain` says. */
  readonly uncommitted: string;
}

/** What is wrong with a release, in a sentence each. */
export function releaseProblems(
  tag: string,
  version: string,
  { changelog, chart, uncommitted }: ReleaseFiles,
): string[] {
  const appVersion = /^appVersion: "?([^"\s]+)"?$/m.exec(chart)?.[1];
  return [
    ...(tag === `v${version}` ? [] : [`The tag is ${tag}, and package.json has the version ${version}: v${version}.`]),
    ...(notesOf(version, changelog) === undefined ? [`CHANGELOG.md has no section ## ${version}.`] : []),
    // Without a tag among its values, the chart starts the image of its appVersion.
    ...(appVersion === version ? [] : [`deploy/chart/Chart.yaml has the appVersion ${appVersion}, not ${version}.`]),
    ...(uncommitted === '' ? [] : [`Something is not committed:\n${uncommitted}`]),
  ];
}

/** The section of a version, without its heading; undefined if there is none, or nothing in it. */
export function notesOf(version: string, changelog: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => new RegExp(`^\\[?${RegExp.escape(version)}\\]?(\\s|$)`).test(text));
  const notes = section?.slice(section.indexOf('\n')).trim();
  return notes === undefined || notes === '' ? undefined : notes;
}

/** The arguments of `docker` that build the image. */
export function imageArguments(
  name: string,
  version: string,
  revision: string,
  metadata: string | undefined,
): string[] {
  const labels = { VERSION: version, REVISION: revision };
  return [
    'buildx',
    'build',
    '--platform',
    PLATFORMS,
    '--tag',
    `${name}:${version}`,
    ...Object.entries(labels).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]),
    // A list of what is in it, and how it was made, beside each image of the registry.
    '--sbom=true',
    '--provenance=mode=max',
    ...(metadata === undefined ? [] : ['--push', '--metadata-file', metadata]),
    '.',
  ];
}

function run(command: string, ...args: string[]): void {
  // What is printed for the next step stays alone on standard output.
  execFileSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
}

function output(command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function buildImage(name: string, version: string, isPushed: boolean): void {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    const metadata = isPushed ? join(folder, 'metadata.json') : undefined;
    run('docker', ...imageArguments(name, version, output('git', 'rev-parse', 'HEAD'), metadata));
    console.log(`image=${name}`);
    if (metadata === undefined) return;
    const { 'containerimage.digest': digest } = JSON.parse(readFileSync(metadata, 'utf8')) as Record<string, string>;
    console.log(`digest=${digest}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** npm signs where a package was built only if it names the repository, which the host of the workflow knows. */
async function publishPackages(isPushed: boolean): Promise<void> {
  const { GITHUB_SERVER_URL: host, GITHUB_REPOSITORY: repository } = process.env;
  const url = repository === undefined ? undefined : `git+${host}/${repository}.git`;
  if (url !== undefined) run('npm', 'pkg', 'set', `repository.url=${url}`);
  const client = await packClient(mkdtempSync(join(tmpdir(), 'release-')), url);
  for (const target of ['.', client]) run('npm', 'publish', target, ...(isPushed ? ['--provenance'] : ['--dry-run']));
}

async function main([command, argument = '', option]: readonly string[]): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  switch (command) {
    case 'check': {
      const chart = readFileSync(join(ROOT, 'deploy', 'chart', 'Chart.yaml'), 'utf8');
      const uncommitted = output('git', 'status', '--porcelain');
      const problems = releaseProblems(argument, version, { changelog, chart, uncommitted });
      for (const problem of problems) console.error(problem);
      if (problems.length > 0) process.exitCode = 1;
      return;
    }
    case 'test':
      run('npm', 'ci');
      run('npm', 'test');
      run('npm', 'run', 'check');
      return;
    case 'image':
      buildImage(argument, version, option === '--push');
      return;
    case 'package':
      await publishPackages(argument === '--push');
      return;
    case 'archives': {
      const folder = join(ROOT, '.cache', 'release');
      for (const path of [...buildArchives(folder), await packClient(folder)]) console.log(path);
      return;
    }
    case 'notes':
      console.log(notesOf(version, changelog) ?? '');
      return;
    case undefined:
    default:
      console.error('check TAG, test, image NAME [--push], package [--push], archives, or notes');
      process.exitCode = 2;
  }
}

if (import.meta.main) await main(process.argv.slice(2));
