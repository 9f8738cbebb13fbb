import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { installPrograms } from '../../../scripts/installed-packages.ts';
import { startApp } from '../../../src/app/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { parseHex, prefixedHex } from '../../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { parseL1Message } from '../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { snippetsOf } from '../../support/page-snippets.ts';

/** The snippets of docs/validators.md, unchanged, on a devnet as that of `npm start`, with blocks every second. Those with `cast send` need a real chain. */

const PAGE = 'docs/validators.md';
/** Has `cast`. */
const PROGRAMS = await installPrograms('test/support/cast');
const TIMEOUT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'validators-page-'));
const opened = new AsyncDisposableStack();
opened.defer(() => rmSync(folder, { recursive: true }));
afterAll(() => opened.disposeAsync());
const local = { aliases: ['mainnet', 'fuji', 'testnet'], embedded: { validators: 5, blockIntervalMs: 1_000 } };
const { config } = parseConfig({ networks: { local }, server: { port: 0 } }, {}, {});
const app = opened.use(
  await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random }),
);
await app.untilReady(AbortSignal.timeout(TIMEOUT_MS));

async function run(command: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, PATH: `${PROGRAMS}:${process.env['PATH']}`, BASE: app.url };
  const { stdout, stderr } = await promisify(execFile)(command, args, { env, timeout: TIMEOUT_MS });
  expect(stderr).toBe('');
  return stdout;
}

/** Returns what an L1 or the P-Chain says by a signed message in hex. */
function saidBy(signedMessage: string) {
  const { unsignedMessage } = parseSignedMessage(parseHex(signedMessage, 'signedMessage'));
  const call = parseWarpPayload(unsignedMessage.payload);
  return call.kind === 'AddressedCall' ? parseL1Message(call.payload) : call;
}

test(
  'the commands of the page play the life of an L1 and its validators',
  async () => {
    const commands = snippetsOf(PAGE, 'sh').filter((code) => !code.includes('cast send'));
    expect(commands).toHaveLength(7);
    const script = ['set -euo pipefail', ...commands].join('\n').replace(/^BASE=.*$/m, '');
    const names = ['CONVERSION', 'FOR_P_CHAIN', 'ACKNOWLEDGED', 'NEVER', 'LOG'];
    const out = await run('bash', ['-c', `${script}\nprintf '%s\\n' ${names.map((name) => `"$${name}"`).join(' ')}`]);
    const lines = out.trimEnd().split('\n');
    const [conversion = '', forPChain = '', acknowledged = '', never = ''] = lines.slice(-names.length);
    expect([conversion, forPChain, acknowledged, never].map(saidBy)).toMatchObject([
      { kind: 'SubnetToL1Conversion' },
      { kind: 'L1ValidatorWeight', weight: 0n, nonce: 1n },
      { kind: 'L1ValidatorRegistration', registered: false },
      { kind: 'L1ValidatorRegistration', registered: false },
    ]);
  },
  TIMEOUT_MS,
);

test('the callback of the page signs for the SDK', async () => {
  const [code = ''] = snippetsOf(PAGE, 'ts');
  const file = join(folder, 'sign.ts');
  writeFileSync(file, code);
  const devnet = app.devnet!;
  const { bytes } = devnet.emit('C', Buffer.from('hello')).message;
  const input = {
    unsignedMessageHex: prefixedHex(bytes),
    signingSubnetId: devnet.subnets.primary.subnetID,
    justificationHex: '0x',
  };
  const call = `process.env.NETWORK = '${app.url}/v1/signatureAggregator/fuji';
    const { aggregateSignatures } = await import('${pathToFileURL(file).href}');
    console.log(await aggregateSignatures(${JSON.stringify(input)}));`;
  const signed = (await run(process.execPath, ['--input-type=module', '-e', call])).trim();
  expect(parseSignedMessage(parseHex(signed, 'signedMessage')).unsignedMessage.bytes).toEqual(bytes);
});
