import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { packClient } from '../../scripts/pack-client.ts';

const ROOT = join(import.meta.dirname, '../..');
const CLIENT = 'warp-signature-aggregator-client';

/** A folder of a user of the client: with the packed client, viem, and the examples. */
export interface ExampleFolder extends Disposable {
  readonly path: string;
}

export async function createExampleFolder(): Promise<ExampleFolder> {
  const path = mkdtempSync(join(tmpdir(), 'example-'));
  const client = join(path, 'node_modules', CLIENT);
  mkdirSync(client, { recursive: true });
  execFileSync('tar', ['-xzf', await packClient(path), '--strip-components=1', '-C', client]);
  symlinkSync(join(ROOT, 'node_modules', 'viem'), join(path, 'node_modules', 'viem'));
  cpSync(join(ROOT, 'examples'), path, { recursive: true });
  writeFileSync(join(path, 'package.json'), '{"type": "module"}');
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A life of examples/deliver.ts, which has a state in its folder. */
export class DeliveryProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #folder: string;
  readonly #output: Promise<string>;
  readonly #exit: Promise<unknown>;

  constructor({ path }: ExampleFolder, variables: NodeJS.ProcessEnv) {
    const env = { PATH: process.env['PATH'], ...variables };
    const child = spawn(process.execPath, ['deliver.ts'], { cwd: path, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    this.#folder = path;
    this.#output = Promise.all([text(child.stdout), text(child.stderr)]).then((texts) => texts.join(''));
    this.#exit = once(child, 'exit');
  }

  /** The written transaction, if one is sent now. */
  pending(): string | undefined {
    try {
      const state = readFileSync(join(this.#folder, 'deliver.json'), 'utf8');
      return (JSON.parse(state) as { readonly pending?: { readonly hash: string } }).pending?.hash;
    } catch {
      // There is none yet.
      return undefined;
    }
  }

  /** Kills it as a machine that loses its power. Returns its output. */
  async kill(): Promise<string> {
    this.child.kill('SIGKILL');
    await this.#exit;
    return this.#output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
