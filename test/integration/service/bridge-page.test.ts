import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { accessListOf } from '../../../src/pchain/codec/access-list.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

/** The snippets of docs/bridge.md, and the one of README.md, run unchanged up to the access list. Those with `cast` need a real chain. */

type Entry = ReturnType<typeof accessListOf>[number];

const read = (file: string) => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');
const CLIENT = pathToFileURL(join(import.meta.dirname, '../../../src/client/package-entry.ts')).href;
const PAGE = read('docs/bridge.md');
const TIMEOUT_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'bridge-page-'));
const opened = new AsyncDisposableStack();
afterAll(async () => {
  await opened.disposeAsync();
  rmSync(folder, { recursive: true });
});
const networks = { local: { embedded: { validators: 5 }, aliases: ['fuji'] } };
const { config } = parseConfig({ networks, server: { port: 0 } }, {}, {});
const app = opened.use(
  await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random }),
);
await app.untilReady(AbortSignal.timeout(TIMEOUT_MS));

function snippets(language: string, page = PAGE): string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map(([, code = '']) => code).filter((code) => !code.includes('cast send'));
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { env: { ...process.env, BASE: app.url } });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

test(
  'the commands of the page emit a message and give the access list of its delivery',
  async () => {
    const commands = snippets('sh');
    expect(commands).toHaveLength(3);
    const script = ['set -eu', ...commands].join('\n').replace(/^BASE=.*$/m, '');
    const out = await run('bash', ['-c', `${script}\nprintf 'TX=%s\\n' "$TX"; echo "$SIGNED"; echo "$ACCESS_LIST"`]);
    const [accessList = '', signed = ''] = out.trimEnd().split('\n').reverse();
    const { signedMessage, epoch } = JSON.parse(signed) as { signedMessage: string; epoch: object };
    expect(epoch).toMatchObject({ pChainHeight: expect.any(Number) });
    expect(signedMessage).toContain(`68656c6c6f`);
    expect(JSON.parse(accessList)).toEqual(accessListOf(signedMessage));
  },
  TIMEOUT_MS,
);

test('so does the example of the README', async () => {
  const [script = '', ...others] = snippets('sh', read('README.md')).filter((code) => code.includes('accessList'));
  expect(others).toEqual([]);
  const out = await run('bash', ['-c', script.replace(/^BASE=.*$/m, 'set -eu')]);
  const { signedMessage, accessList } = JSON.parse(out) as { signedMessage: string; accessList: Entry[] };
  expect(accessList).toEqual(accessListOf(signedMessage));
});

test(
  'the TypeScript of the page gives the access list',
  async () => {
    const [code = '', ...more] = snippets('ts');
    expect(more).toEqual([]);
    const file = join(folder, 'bridge.ts');
    // The package is built from this file.
    writeFileSync(file, code.replace('warp-signature-aggregator-client', CLIENT));
    const devnet = app.devnet!;
    const { message, transactionHash } = devnet.emit('C', Buffer.from('hello'), undefined);
    const call = `const { signForDelivery } = await import('${pathToFileURL(file).href}');
    console.log(JSON.stringify(await signForDelivery('${transactionHash}', '${devnet.subnets.l1.blockchainID}')));`;
    const [entry, ...others] = JSON.parse(await run(process.execPath, ['--input-type=module', '-e', call])) as Entry[];
    expect([entry?.address, others]).toEqual(['0x0200000000000000000000000000000000000005', []]);
    const predicate = entry?.storageKeys.map((key) => key.slice(2)).join('');
    expect(predicate).toMatch(new RegExp(`^${bytesToHex(message.bytes)}[0-9a-f]{200,}ff(00)*$`));
  },
  TIMEOUT_MS,
);
