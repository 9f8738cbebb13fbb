import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { installPrograms } from '../../../scripts/installed-packages.ts';
import { packClient } from '../../../scripts/pack-client.ts';
import { startService } from '../service/running-service.ts';

const ROOT = join(import.meta.dirname, '../../..');
const OLDER_NODE = '/usr/bin/node';
/** With the code as CommonJS and as ES module, and the types of all routes. */
const MAX_BYTES = 44_000;
const TIMEOUT_MS = 60_000;
const PROGRAM = `import { createClient, messageIdOf, toAccessList } from 'warp-signature-aggregator-client';

const [, , baseUrl = '', message = ''] = process.argv;
const client = createClient({ baseUrl, network: 'fuji' });
const events: string[] = [];
const { signedMessage } = await client.sign(message, { onProgress: ({ event }) => events.push(event) });
const [entry] = toAccessList(signedMessage);
const id = messageIdOf(signedMessage);
let received = '';
// Leaving the loop ends the stream.
for await (const { message: one } of client.messages({ status: 'signed' })) {
  received = one.messageId;
  if (received === id) break;
}
console.log(JSON.stringify({ isReceived: received === id, keys: entry?.storageKeys.length, last: events.at(-1) }));
`;

/** A folder in which the package is installed. */
const folder = mkdtempSync(join(tmpdir(), 'client-package-'));
afterAll(() => rmSync(folder, { recursive: true }));
const installed = join(folder, 'node_modules', 'warp-signature-aggregator-client');
const tarball = await packClient(folder);
mkdirSync(installed, { recursive: true });
execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
writeFileSync(join(folder, 'program.ts'), PROGRAM);

/** The commands that run a program: this Node, an older one if the machine has it, and Deno. */
const runtimes: readonly (readonly [string, ...string[]])[] = [
  [process.execPath],
  ...(isSupportedNode(OLDER_NODE) ? ([[OLDER_NODE]] as const) : []),
  [join(await installPrograms('test/support/deno'), 'deno'), 'run', '--allow-net'],
];

function isSupportedNode(path: string): boolean {
  try {
    const version = execFileSync(path, ['--version'], { encoding: 'utf8' });
    return Number(/^v(\d+)/.exec(version)?.[1]) >= 20;
  } catch {
    return false;
  }
}

test('the package is small, and has no dependencies', () => {
  expect(statSync(tarball).size).toBeLessThanOrEqual(MAX_BYTES);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>;
  expect(manifest).toMatchObject({ name: 'warp-signature-aggregator-client', engines: { node: '>=20' } });
  expect(manifest).not.toHaveProperty('dependencies');
});

test(
  'a program with its types passes tsc, and runs in each Node and Deno',
  async () => {
    const feed = { chains: [{ blockchainId: 'C', fromBlock: 1 }] };
    await using service = await startService(5, { settings: { network: { feed } } });
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
    const types = join(ROOT, 'node_modules', '@types');
    const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--types', 'node', '--typeRoots', types];
    execFileSync(tsc, [...options, '--outDir', folder, join(folder, 'program.ts')], { cwd: folder, stdio: 'inherit' });
    for (const [command, ...args] of runtimes) {
      const [message = ''] = service.devnet.emitMessages(1);
      const program = [...args, join(folder, 'program.js'), service.app.url, message];
      const { stdout } = await promisify(execFile)(command, program);
      expect([command, JSON.parse(stdout)]).toEqual([
        command,
        { isReceived: true, keys: expect.any(Number), last: 'result' },
      ]);
    }
  },
  TIMEOUT_MS,
);
