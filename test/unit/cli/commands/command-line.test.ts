import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { listenAdvice } from '../../../../src/cli/io/listen-advice.ts';
import { ListenError } from '../../../../src/http/server/listen-error.ts';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { NODE_FLAG } from '../../../support/node-flag.ts';
import { runCommand, runHere } from '../run-command.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const START = join(ROOT, 'src/start.js');

const folder = mkdtempSync(join(tmpdir(), 'command-line-'));
afterAll(() => rmSync(folder, { recursive: true }));

function writeConfig(name: string, config: object): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** Writes a certificate with a damaged key. */
function writeIdentity() {
  const [certificatePath, privateKeyPath] = [join(folder, 'staker.crt'), join(folder, 'staker.key')];
  writeFileSync(certificatePath, createIdentity().certificatePem);
  writeFileSync(privateKeyPath, 'no key');
  return { certificatePath, privateKeyPath };
}

// With a public network the service listens even if its API is away.
const FUJI = { networks: { fuji: { pChainApi: [{ baseUrl: 'http://127.0.0.1:9', httpHeaders: { k: 'secret' } }] } } };

describe('npm start --', () => {
  test('--help lists the commands and exit codes, without colours in a pipe', async () => {
    const { code, out, err } = await runHere('--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const command of ['decode', 'verify', 'aggregate', 'subnet', 'identity', 'serve', 'health']) {
      expect(out).toMatch(new RegExp(`^  ${command} `, 'm'));
    }
    expect(out).toContain('Exit codes: 0 done, or valid; 1 not valid');
    expect(out).not.toContain('\u001b');
  });

  test.each([
    [['subnet'], ', or do without one by --config'],
    [['messages'], ''],
    [['validation', '11111111111111111111111111111111LpoYY'], ''],
  ])('%j names --config where no service answers, if it has that', async (command, alternative) => {
    const { code, err } = await runHere(...command, '--network', 'fuji', '--url', 'http://127.0.0.1:1');
    const text = `cannot be asked: connect ECONNREFUSED 127.0.0.1:1; give the address of a running service by --url${alternative}\n`;
    expect([code, err]).toEqual([3, `http://127.0.0.1:1 ${text}`]);
  });

  test('--check-config reports a valid configuration, or all problems', async () => {
    const out =
      'ok: serves mainnet and fuji (testnet) on 127.0.0.1 port 81; upstreams mainnet, fuji, evm, metrics, node; ' +
      '3000 units per minute and address; 0 API keys; store none\n';
    const example = join(ROOT, 'config', 'public.json');
    expect(await runHere('--check-config', '--config', example, '--port', '81')).toEqual({ code: 0, out, err: '' });
    const config = writeConfig('wrong.json', { ...FUJI, server: { prot: 1, port: 'secret port' } });
    const wrong = await runHere('--check-config', '--config', config);
    expect({ code: wrong.code, out: wrong.out }).toEqual({ code: 2, out: '' });
    expect(wrong.err.split('\n')).toEqual([
      'configuration: 2 problems:',
      '  server.prot: there is no such setting; did you mean port?',
      '  server.port: must be a whole number from 0 to 65535, is "secret port"',
      '',
    ]);
  });

  test('--print-config prints JSON without secrets, with the source of each value', async () => {
    const config = writeConfig('good.json', FUJI);
    const { code, out, err } = await runHere('--print-config', '--config', config, '--host', '::1');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).not.toContain('secret');
    expect(JSON.parse(out)).toMatchObject({
      settings: { server: { host: '::1' } },
      sources: { 'server.host': 'command line, --host', 'networks.fuji.pChainApi': config, 'server.port': 'default' },
    });
  });

  test('identity prints the NodeID, creates a missing identity, and names the setting if none is configured', async () => {
    const config = writeConfig('identity.json', { ...FUJI, identity: { directory: join(folder, 'identity') } });
    const first = await runHere('identity', '--config', config);
    expect(first).toEqual({ code: 0, out: expect.stringMatching(/^NodeID-\w+\n$/), err: '' });
    expect(await runHere('identity', '--config', config)).toEqual(first);
    expect(await runHere('identity', '--config', writeConfig('none.json', FUJI))).toEqual({
      code: 2,
      out: '',
      err: expect.stringContaining('set identity.directory'),
    });
  });

  test('health exits with 3 and the reason if no service answers', async () => {
    const err = expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/health\/live does not answer: .*ECONNREFUSED.*\n$/);
    expect(await runHere('health', '--port', '1')).toEqual({ code: 3, out: '', err });
  });

  test.each([
    [['--prot', '1'], "unknown option '--prot'\n(Did you mean --port?)\nSee warp-signature-aggregator serve --help\n"],
    [['--zzz'], "unknown option '--zzz'\n"],
    [['serve', '--port'], "option '--port <n>' argument missing"],
    [['decod', '00'], "unknown command 'decod'\n(Did you mean decode?)\nSee warp-signature-aggregator --help\n"],
    [
      ['--config', 'a.json', 'identity'],
      'write the command before its options: warp-signature-aggregator identity …\n',
    ],
    [['identity', 'extra'], "too many arguments for 'identity'"],
    [['identity', '--port', '80'], "unknown option '--port'"],
    [
      ['--check-config', '--validators', '4'],
      'networks.local.embedded.validators (command line, --validators): must be',
    ],
    [
      ['--check-config', '--config', '/no/such.json'],
      'configuration: cannot read the configuration file /no/such.json',
    ],
  ])('%j fails with a message and exit code 2', async (args, expected) => {
    expect(await runHere(...args)).toEqual({ code: 2, out: '', err: expect.stringContaining(expected) });
  });
});

describe.concurrent('a service that cannot start', { timeout: 120_000 }, () => {
  test('for a devnet with more validators than allowed files has advice, after a line at the start', async () => {
    const child = spawn(
      'sh',
      ['-c', 'ulimit -n 128; exec "$@"', 'sh', process.execPath, NODE_FLAG, START, '--validators', '200'],
      {
        env: { SIGNATURE_AGGREGATOR_SERVER__PORT: '0', PATH: process.env['PATH'] },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect({ code, out }).toEqual({ code: 1, out: 'Starting a devnet, which takes some seconds\n' });
    const [last, ...before] = err.trimEnd().split('\n').toReversed();
    expect(last).toMatch(/^could not run: the devnet cannot open a port .*ulimit -n\)$/);
    expect(before.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', fileLimit: 128 }]);
  });

  test('on a port in use has advice after the log', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, out, err } = await runCommand(['--config', writeConfig('taken.json', FUJI), '--port', `${port}`]);
    other.close();
    expect({ code, out }).toEqual({ code: 1, out: '' });
    const [last, ...before] = err.trimEnd().split('\n').toReversed();
    expect(last).toMatch(/^could not run: listen EADDRINUSE.*--port or the setting server\.port/);
    expect(before.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['staking identity']);
  });

  test('for its TLS key fails before it listens, with advice', async () => {
    const config = writeConfig('early.json', { ...FUJI, server: { port: 0 }, identity: writeIdentity() });
    const { code, err } = await runCommand(['--config', config]);
    expect(code).toBe(2);
    expect(err).toMatch(/^staking identity: the private key .* cannot be used: .*restore both/m);
    expect(err).not.toContain('"listening"');
  });
});

test.each([
  ['EADDRINUSE', '--port'],
  ['EACCES', '--port'],
  ['EADDRNOTAVAIL', '--host'],
  ['ENOTFOUND', '--host'],
])('the advice for %s names %s', (code, option) => {
  const cause = Object.assign(new Error('x'), { code });
  expect(listenAdvice(new ListenError(cause, { host: 'server.host', port: 'server.port' }))).toContain(option);
  // Other listeners have settings, but no options.
  const advice = listenAdvice(new ListenError(cause, { host: 'metrics.host', port: 'metrics.port' }));
  expect(advice).toContain(option.replace('--', 'the setting metrics.'));
  expect(advice).not.toContain('--');
});
