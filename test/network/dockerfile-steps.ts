import { execFile } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The first `npm ci` of a machine downloads some 250 MB. */
const RUN_TIMEOUT_MS = 9 * 60_000;
/**
 * The lock file has hashes and no addresses, so npm asks the registry where each package is, which takes minutes if it is far away. The
 * answers that the installation of this checkout received are still in npm's cache; npm asks for the others as always.
 */
const FROM_CACHE = { npm_config_prefer_offline: 'true' };
const PROJECT = join(import.meta.dirname, '..', '..');

/** An image as far as it can be made without an engine: its files, and how it is started. */
export interface Image extends Disposable {
  /** What stands for `/` in it. */
  readonly root: string;
  /** The working directory, below {@link root}. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly entrypoint: readonly string[];
  readonly healthCheck: readonly string[];
}

interface Stage {
  readonly root: string;
  workdir: string;
  readonly env: Record<string, string>;
}

/** Does what the steps of the Dockerfile say, in empty folders, with the Node that runs this. Fails on a step that it does not know. */
export async function runDockerfile(buildArguments: Readonly<Record<string, string>>): Promise<Image> {
  const base = mkdtempSync(join(tmpdir(), 'image-'));
  chmodSync(base, 0o755);
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  const found = { user: '', entrypoint: '', health: '' };
  for (const [instruction, text] of instructionsOf(readFileSync(join(PROJECT, 'Dockerfile'), 'utf8'))) {
    if (instruction === 'FROM') {
      const name = / AS (\S+)$/.exec(text)?.[1] ?? 'last';
      if (!/^(--platform=\$BUILDPLATFORM )?node:[\d.]+-slim(@sha256:[0-9a-f]{64})?( |$)/.test(text))
        throw new Error(`not known: FROM ${text}`);
      stage = { root: join(base, name), workdir: '/', env: {} };
      mkdirSync(stage.root);
      stages.set(name, stage);
      continue;
    }
    if (stage === undefined) throw new Error(`${instruction} before FROM`);
    const directory = join(stage.root, stage.workdir);
    switch (instruction) {
      case 'ARG': {
        const [name = '', otherwise = ''] = text.split('=');
        stage.env[name] = buildArguments[name] ?? otherwise;
        break;
      }
      case 'WORKDIR':
        stage.workdir = text;
        mkdirSync(join(stage.root, text), { recursive: true });
        break;
      case 'ENV':
        for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value;
        break;
      case 'COPY':
        copy(text, stage, stages);
        break;
      case 'RUN':
        await promisify(execFile)('/bin/sh', ['-c', text], {
          cwd: directory,
          env: { PATH: pathWithNode(), HOME: process.env['HOME'] ?? base, ...FROM_CACHE, ...stage.env },
          timeout: RUN_TIMEOUT_MS,
          maxBuffer: 64 * 1024 * 1024,
        });
        break;
      case 'USER':
        found.user = text;
        break;
      case 'HEALTHCHECK':
        found.health = text.slice(text.indexOf('CMD ') + 4);
        break;
      case 'ENTRYPOINT':
        found.entrypoint = text;
        break;
      case 'LABEL':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`not known: ${instruction} ${text}`);
    }
  }
  if (stage === undefined) throw new Error('the Dockerfile has no FROM');
  const [uid = '', gid = ''] = found.user.split(':');
  return {
    root: stage.root,
    directory: join(stage.root, stage.workdir),
    env: stage.env,
    user: { uid: Number(uid), gid: Number(gid) },
    entrypoint: JSON.parse(found.entrypoint) as string[],
    healthCheck: JSON.parse(found.health) as string[],
    [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** The Node that runs this stands for that of the image. */
export function pathWithNode(): string {
  return `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
}

function instructionsOf(dockerfile: string): [instruction: string, text: string][] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines.flatMap((line) => {
    const [, instruction, text = ''] = /^([A-Z]+) (.*)$/.exec(line.trim()) ?? [];
    return instruction === undefined ? [] : [[instruction, text] as [string, string]];
  });
}

/** Files come from the project, where .dockerignore lets them through, or from an earlier stage. */
function copy(text: string, stage: Stage, stages: ReadonlyMap<string, Stage>): void {
  const words = text.split(' ');
  const from = words[0]?.startsWith('--from=') === true ? words.shift()?.slice('--from='.length) : undefined;
  const owner = words[0]?.startsWith('--chown=') === true ? words.shift()?.slice('--chown='.length) : undefined;
  const to = words.pop() ?? '';
  const base = to.startsWith('/') ? stage.root : join(stage.root, stage.workdir);
  const allowed = readFileSync(join(PROJECT, '.dockerignore'), 'utf8').split('\n');
  for (const source of words) {
    if (from === undefined && !allowed.includes(`!${source.replace(/^\.\//, '')}`)) {
      throw new Error(`.dockerignore keeps ${source} out`);
    }
    const root = from === undefined ? PROJECT : stages.get(from)?.root;
    if (root === undefined) throw new Error(`no stage ${from}`);
    const target = to.endsWith('/') ? join(base, to, source.split('/').at(-1) ?? '') : join(base, to);
    if (from === undefined) {
      cpSync(join(root, source), target, { recursive: true });
    } else {
      // Moved, not copied: the earlier stage is not used again, and thousands of files take seconds to copy.
      mkdirSync(dirname(target), { recursive: true });
      renameSync(join(root, source), target);
    }
    const [uid, gid] = (owner ?? '').split(':').map(Number);
    if (uid !== undefined && gid !== undefined && process.getuid?.() === 0) chownSync(target, uid, gid);
  }
}
