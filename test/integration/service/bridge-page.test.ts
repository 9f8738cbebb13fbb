import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { MessagePageBody } from '../../../src/api/feed/feed-records.ts';
import { startApp } from '../../../src/app/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { accessListOf } from '../../../src/pchain/codec/access-list.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { snippetsOf } from '../../support/page-snippets.ts';

/**
 * The snippets of docs/bridge.md, and the one of README.md, run unchanged up to the access list on the devnet of `npm start`. Those with `cast` and
 * viem need a real chain: test/network/service-bridge.test.ts.
 */

type Entry = ReturnType<typeof accessListOf>[number];

const CLIENT = pathToFileURL(join(import.meta.dirname, '../../../src/client/package-entry.ts')).href;
const PAGE = 'docs/bridge.md';
const TIMEOUT_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'bridge-page-'));
const opened = new AsyncDisposableStack();
afterAll(async () => {
  await opened.disposeAsync();
  rmSync(folder, { recursive: true });
});
/** As `npm start`, but with fewer validators. */
const { config } = parseConfig(undefined, { validators: '5', port: '0' }, {});
const app = opened.use(
  await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random }),
);
await app.untilReady(AbortSignal.timeout(TIMEOUT_MS));

async function run(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { env: { ...process.env, BASE: app.url } });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

test(
  'the commands of the page emit a message and give the access list of its delivery',
  async () => {
    const commands = snippetsOf(PAGE, 'sh').filter((code) => !code.includes('cast send'));
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
  const [script = '', ...others] = snippetsOf('README.md', 'sh').filter((code) => code.includes('accessList'));
  expect(others).toEqual([]);
  const out = await run('bash', ['-c', script.replace(/^BASE=.*$/m, 'set -eu')]);
  const { signedMessage, accessList } = JSON.parse(out) as { signedMessage: string; accessList: Entry[] };
  expect(accessList).toEqual(accessListOf(signedMessage));
});

test(
  'the TypeScript of the page gives the access list',
  async () => {
    const [code = ''] = snippetsOf(PAGE, 'ts');
    const file = join(folder, 'sign.ts');
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

const [feedOfTypeScript = ''] = snippetsOf(PAGE, 'ts').filter((code) => code.includes('client.messages'));
const [feedOfPython = ''] = snippetsOf(PAGE, 'python');
const hasPython = spawnSync('python3', ['--version']).status === 0;

test.for<readonly [string, string, string, string, boolean]>([
  [
    'TypeScript',
    process.execPath,
    'feed.ts',
    feedOfTypeScript.replace('warp-signature-aggregator-client', CLIENT),
    true,
  ],
  ['Python', 'python3', 'feed.py', feedOfPython, hasPython],
])(
  'the %s of the page reads the feed, and goes on after its cursor when it is started again',
  { timeout: TIMEOUT_MS },
  async ([language, command, name, code, isThere], { skip }) => {
    skip(!isThere, `there is no ${command}`);
    const file = join(folder, name);
    writeFileSync(file, code);
    const variables = { ...process.env, BASE: app.url, CURSOR: join(folder, `cursor-${language}`) };
    /** Emits a message, and reads until it comes. */
    const readOne = async () => {
      const { id } = app.devnet!.emit('C', Buffer.from(`${language} ${performance.now()}`)).message;
      const child = spawn(command, [file], { env: variables, stdio: ['ignore', 'pipe', 'inherit'] });
      const lines: string[] = [];
      for await (const line of createInterface(child.stdout)) {
        lines.push(line);
        if (line === id) child.kill();
      }
      return { id, lines };
    };
    const first = await readOne();
    expect(first.lines).toContain(first.id);
    const second = await readOne();
    // The last message, or page, comes again if the program ended before it stored the cursor.
    expect([[second.id], [first.id, second.id], [...first.lines, second.id]]).toContainEqual(second.lines);
  },
);

test('the service of npm start watches both chains, and signs what they emit', async () => {
  const sent = (['C', 'L1'] as const).map((chain) => app.devnet!.emit(chain, Buffer.from(chain)).message.id);
  const signed = async () => {
    const response = await fetch(`${app.url}/v1/signatureAggregator/fuji/messages?status=signed&limit=1000`);
    const { messages } = (await response.json()) as MessagePageBody;
    return messages.map(({ messageId }) => messageId);
  };
  await expect.poll(signed).toEqual(expect.arrayContaining(sent));
});
