import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { MINIMUM_MAJOR } from '../../../src/require-node.js';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { collect, type Ended, runCommand } from '../../unit/cli/run-command.ts';
import { holdClosedPort } from '../closed-port.ts';
import { signByGoApi, startGoBinary } from './go-binary-process.ts';

/** The script in place of the Go aggregator's binary, called as tools call it, beside the API of the devnet's node. */

const TIMEOUT_MS = 60_000;
const SCRIPT = join(import.meta.dirname, '../../../src/signature-aggregator');
const FLAGS = '--use-system-ca --max-semi-space-size=4 --disable-warning=ExperimentalWarning';
const USAGE = /^\nUsage:\nsignature-aggregator --config-file path-to-config +Specifies the config file/;

const folder = mkdtempSync(join(tmpdir(), 'go-binary-'));
let devnet: Devnet;
const NO_TLS = { 'tls-cert-path': null, 'tls-key-path': null };
/** A file with every key. */
let goFile: Record<string, unknown>;
beforeAll(async () => {
  devnet = await startDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
  goFile = {
    'log-level': 'Info',
    'p-chain-api': { 'base-url': devnet.apiUrl, 'query-parameters': null, 'http-headers': { 'X-Key': 'secret' } },
    'info-api': { 'base-url': devnet.apiUrl, 'query-parameters': null, 'http-headers': null },
    'api-port': 0,
    'metrics-port': 0,
    'signature-cache-size': 1_048_576,
    'allow-private-ips': true,
    'tracked-subnet-ids': [devnet.subnets.l1.subnetID],
    'manually-tracked-peers': null,
    'tls-cert-path': join(folder, 'tls', 'staker.crt'),
    'tls-key-path': '$GO_BINARY_TEST/tls/staker.key',
    'max-p-chain-lookback': 1_000,
    'validator-refresh-period-seconds': 60,
  };
}, TIMEOUT_MS);
afterAll(async () => {
  await devnet[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function writeFile(content: object): string {
  const path = join(mkdtempSync(join(folder, 'file-')), 'config.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const start = (args: readonly string[], env: Record<string, string> = {}, entry = SCRIPT) =>
  startGoBinary(entry, args, { GO_BINARY_TEST: folder, ...env });

const run = (args: readonly string[], env: Record<string, string> = {}, entry = SCRIPT): Promise<Ended> =>
  collect(
    spawn(entry, args, { env: { PATH: '/usr/bin:/bin', ...env }, stdio: ['ignore', 'pipe', 'pipe'], cwd: folder }),
    undefined,
  );

test('flags and failures are those of the Go binary', { timeout: TIMEOUT_MS }, async () => {
  await using closed = await holdClosedPort();
  const { port } = closed;
  const api = { 'base-url': `http://127.0.0.1:${port}` };
  const apis = { 'p-chain-api': api, 'info-api': api };
  const unknown = writeFile({ ...apis, 'log-lvel': 'info' });
  const usage = (err: RegExp) => ({ code: 1, out: expect.stringMatching(USAGE), err: expect.stringMatching(err) });
  const failure = (err: RegExp) => ({ code: 1, out: '', err: expect.stringMatching(err) });

  expect(await run([])).toEqual(usage(/--config-file or CONFIG_FILE/));
  expect(await run(['--nope'])).toEqual(usage(/--nope/));
  expect(await run(['--config-file'])).toEqual(usage(/argument missing/));
  expect(await run(['--config-file', 'none.json'])).toEqual(usage(/none\.json.*no such file/));
  expect(await run(['--help'])).toEqual({ code: 0, out: expect.stringMatching(USAGE), err: '' });
  expect(await run(['--version'])).toEqual({ code: 0, out: `v${packageJson.version}\n`, err: '' });
  expect(await run(['--config-file', unknown])).toEqual(failure(/^could not run: '' has invalid keys: log-lvel;/));
  // The variable goes over the flag, as there.
  expect(await run(['--config-file', 'none.json'], { CONFIG_FILE: unknown })).toEqual(
    failure(/invalid keys: log-lvel/),
  );
  expect(await run(['--config-file', writeFile({ ...goFile, ...NO_TLS, 'api-port': 70_000 })])).toEqual(
    failure(/^could not run: api-port: must be a whole number from 0 to 65535, is 70000/),
  );
  expect(await run(['--config-file', writeFile(apis)])).toEqual(
    failure(RegExp(`^could not run: the node cannot be reached: info-api at http://127.0.0.1:${port}: .*ECONNREFUSED`)),
  );
});

test('health names the main cause of missing weight by the key of the file', { timeout: TIMEOUT_MS }, async () => {
  const path = writeFile({ ...goFile, ...NO_TLS, 'allow-private-ips': false });
  await using service = await start(['--config-file', path]);
  const health = async () => {
    const response = await fetch(`${service.urls[0]}/health`);
    const body = (await response.json()) as { details: Record<string, { error?: string }> };
    return `${response.status} ${body.details['signature-aggregator-health']?.error}`;
  };
  await expect
    .poll(health, { timeout: TIMEOUT_MS })
    .toMatch(
      /^503 subnet 1{32}LpoYY: 0\.00 % of its weight .*: [\d.]+ % has private addresses: set allow-private-ips to true/,
    );
});

test('the file as it is: both ports have each path, and no other port is open', { timeout: TIMEOUT_MS }, async () => {
  await using first = await start(['--config-file', writeFile(goFile)]);
  // Side by side with another one: validators hold one connection to a NodeID.
  await using second = await start([], { CONFIG_FILE: writeFile({ ...goFile, ...NO_TLS }) });
  const message = devnet.emitMessages(1)[0] as string;
  for (const url of [...first.urls, ...second.urls]) {
    expect(await signByGoApi(url, message)).toEqual({
      status: 200,
      body: { 'signed-message': expect.stringMatching(/^[0-9a-f]+$/) },
    });
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^signature_aggregator_agg_sigs_req_count [12]$/m);
    expect((await fetch(`${url}/health/live`)).status).toBe(404);
  }
  expect(first.log.tail()).toMatch(/in place of the Go signature aggregator.*\n(.*\n)*.*server\.ownApi: false/);
  expect(first.log.tail()).toContain('max-p-chain-lookback: has no counterpart');
  const ports = first.urls.map((url) => Number(new URL(url).port));
  expect(listeningPorts(first.child.pid as number)).toEqual(ports.toSorted((a, b) => a - b));

  const quiet = { ...goFile, ...NO_TLS, 'log-level': 'off' };
  expect(await run(['--config-file', writeFile(quiet)], { METRICS_PORT: String(ports[0]) })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^could not run: .*EADDRINUSE.*: another program .* the setting metrics-port/),
  });
});

test('the process that was started is the service; SIGKILL leaves none, but its compiled code for the next', {
  timeout: TIMEOUT_MS,
}, async () => {
  const compiled = join(folder, 'compiled');
  const env = { NODE_COMPILE_CACHE: compiled };
  const { child, urls, [Symbol.asyncDispose]: kill } = await start(['--config-file', writeFile(goFile)], env);
  const pid = child.pid as number;
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toMatch(/\/bin\/node\0.*start\.js\0signature-aggregator\0/);
  expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('');
  while ((await fetch(`${urls[0]}/health`)).status !== 200);
  await kill();
  expect(child.signalCode).toBe('SIGKILL');
  const files = readdirSync(compiled, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(100);
});

test('convert prints a configuration with the same ports and answers', { timeout: TIMEOUT_MS }, async () => {
  const ports = { apiPort: 8_090, metricsPort: 8_091 };
  const env = { GO_BINARY_TEST: folder };
  const withPorts = writeFile({ ...goFile, 'api-port': 8_090, 'metrics-port': 8_091 });
  const { out, ...rest } = await runCommand(['convert', withPorts], { env });
  expect(rest).toMatchObject({ code: 0, err: expect.stringMatching(/^max-p-chain-lookback: has no counterpart; /m) });
  const name = `network-${devnet.networkID}`;
  expect(JSON.parse(out)).toMatchObject({ networks: { [name]: { goApi: ports } }, access: { unitsPerMinute: 0 } });

  const path = writeFile(goFile);
  const config = join(folder, 'converted.json');
  writeFileSync(config, (await runCommand(['convert', path], { env })).out);
  const message = devnet.emitMessages(1)[0] as string;
  let nodeID: string;
  {
    await using binary = await start(['--config-file', path]);
    nodeID = binary.nodeID;
  }
  const entry = join(import.meta.dirname, '../../../src/start.js');
  await using own = await start([...FLAGS.split(' '), entry, '--config', config], {}, process.execPath);
  expect(listeningPorts(own.child.pid as number)).toHaveLength(2);
  expect(own.nodeID).toBe(nodeID);
  for (const url of own.urls) {
    expect(await signByGoApi(url, message)).toEqual({ status: 200, body: { 'signed-message': expect.any(String) } });
    expect(await signByGoApi(url, '00')).toEqual({ status: 400, body: { error: expect.any(String) } });
  }

  expect(await runCommand(['convert', writeFile({ 'api-port': 1 })])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/p-chain-api: must be given/),
  });
});

test('it is found through links, and by the Node that is new enough', { timeout: TIMEOUT_MS }, async () => {
  const place = join(folder, 'links');
  mkdirSync(join(place, 'bin'), { recursive: true });
  symlinkSync(SCRIPT, join(place, 'script'));
  symlinkSync('../script', join(place, 'bin', 'signature-aggregator'));
  const version = { code: 0, out: `v${packageJson.version}\n`, err: '' };
  expect(await run(['--version'], {}, join(place, 'bin', 'signature-aggregator'))).toEqual(version);

  // Alone in a folder, with the Node beside it or on PATH.
  const alone = join(folder, 'alone');
  mkdirSync(join(alone, 'bin'), { recursive: true });
  const script = join(alone, 'signature-aggregator');
  writeFileSync(script, readFileSync(SCRIPT));
  chmodSync(script, 0o755);
  const node = (path: string, nodeVersion: string) => {
    writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && echo v${nodeVersion} || echo "$0" "$@"\n`, { mode: 0o755 });
  };
  const env = { PATH: `${join(alone, 'bin')}:/usr/bin:/bin` };
  node(join(alone, 'bin', 'node'), `${MINIMUM_MAJOR - 1}.9.9`);
  expect(await run([], env, script)).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^signature-aggregator needs Node 24 /),
  });
  node(join(alone, 'bin', 'node'), `${MINIMUM_MAJOR}.0.0`);
  const called = (path: string) =>
    `${path} ${FLAGS} ${join(alone, 'dist', 'src', 'start.js')} signature-aggregator --help\n`;
  expect(await run(['--help'], env, script)).toEqual({ code: 0, out: called(join(alone, 'bin', 'node')), err: '' });
  node(join(alone, 'node'), '100.1.0');
  expect(await run(['--help'], env, script)).toEqual({ code: 0, out: called(join(alone, 'node')), err: '' });
  // Under its other name it is the other program.
  const own = join(alone, 'warp-signature-aggregator');
  copyFileSync(script, own);
  expect((await run(['--help'], env, own)).out).toBe(called(join(alone, 'node')).replace(' signature-aggregator', ''));
});

/** The TCP ports on which a process listens, by the inodes of its sockets. */
function listeningPorts(pid: number): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
    ),
  );
  const lines = ['tcp', 'tcp6'].flatMap((file) =>
    readFileSync(`/proc/${pid}/net/${file}`, 'utf8').split('\n').slice(1),
  );
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === LISTEN && inodes.has(inode))
    .map(([, local = '']) => Number.parseInt(local.split(':').at(-1) ?? '', 16))
    .sort((a, b) => a - b);
}

/** Linux `include/net/tcp_states.h`. */
const LISTEN = '0A';
