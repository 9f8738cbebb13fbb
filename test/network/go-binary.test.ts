import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
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
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildArchives } from '../../scripts/release-archive.ts';
import { followLog } from '../support/service-log.ts';
import { useRealNetwork } from './network-fixture.ts';
import { PRIMARY_NETWORK_ID, type RealNetwork } from './real-network.ts';
import { emitMessage, unknownTwin } from './warp-messages.ts';

/** A release in place of the Go aggregator's binary, called as avalanche-cli calls it: a file, stdin closed, SIGKILL at the end. */

const BUILD_TIMEOUT_MS = 5 * 60_000;
const REQUEST_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 10;
/** The deadlines of its tools: avalanche-cli asks for 5 s after 2 s; others wait 30 s for the health. */
const MAX_UNTIL_400_MS = 7_000;
const MAX_UNTIL_HEALTHY_MS = 30_000;
/** Environment variable that marks all processes of one start. */
const MARK = 'GO_BINARY_TEST';

const folder = mkdtempSync(join(tmpdir(), 'go-binary-'));
const archive = join(folder, 'archive');
const launcher = join(archive, 'signature-aggregator');
/** What the launcher calls, and no Node. */
const withoutNode = join(folder, 'bin');
// The L1 has no validators at the proposed height for up to half a minute after its conversion; until then the health is 503 by
// either service, and what is measured would be the age of the network.
const network = useRealNetwork((started) => started.awaitProposedHeight(started.conversionHeight));

beforeAll(() => {
  mkdirSync(archive);
  mkdirSync(withoutNode);
  for (const tool of ['dirname', 'readlink', 'tr', 'uname'])
    symlinkSync(join('/usr/bin', tool), join(withoutNode, tool));
  const [path = ''] = buildArchives(folder, [process.arch === 'x64' ? 'amd64' : 'arm64']);
  execFileSync('tar', ['-xzf', path, '-C', archive]);
}, BUILD_TIMEOUT_MS);
afterAll(() => rmSync(folder, { recursive: true }));

/** A file with every key, in the form of avalanche-cli. */
function goFile({ nodes, subnetID }: RealNetwork): Record<string, unknown> {
  const api = { 'base-url': nodes[0]?.apiUrl, 'query-parameters': null, 'http-headers': null };
  return {
    'log-level': 'Debug',
    ...{ 'p-chain-api': api, 'info-api': api, 'api-port': 0, 'metrics-port': 0, 'signature-cache-size': 1_048_576 },
    ...{ 'allow-private-ips': true, 'tracked-subnet-ids': [subnetID] },
    'manually-tracked-peers': nodes.map(({ nodeID, stakingPort }) => ({ id: nodeID, ip: `127.0.0.1:${stakingPort}` })),
    'tls-cert-path': join(folder, 'identity', 'staker.crt'),
    'tls-key-path': join(folder, 'identity', 'staker.key'),
    ...{ 'max-p-chain-lookback': 1_000, 'validator-refresh-period-seconds': 60 },
  };
}

function writeFile(content: object): string {
  const path = join(folder, `${randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

interface Binary extends AsyncDisposable {
  readonly child: ChildProcessByStdio<null, null, Readable>;
  readonly api: string;
  readonly metrics: string;
  /** `performance.now()` just before the start. */
  readonly startedMs: number;
  readonly mark: string;
}

async function start(command: readonly string[], path: string): Promise<Binary> {
  const mark = randomUUID();
  const startedMs = performance.now();
  const [file = '', ...args] = command;
  const child = spawn(file, args, { env: { PATH: path, [MARK]: mark }, stdio: ['ignore', 'ignore', 'pipe'] });
  const log = followLog(child);
  const exit = once(child, 'exit');
  const { go } = (await log.line('listening')) as { go: { local: { api: string; metrics: string } } };
  const [api, metrics] = [go.local.api, go.local.metrics].map((url) => url.replace('[::]', '127.0.0.1'));
  return {
    ...{ child, api: api as string, metrics: metrics as string, startedMs, mark },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Waits until a path has a status, and returns how long that took since the start. */
async function msUntil(status: number, url: string, { startedMs }: Binary): Promise<number> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  for (;;) {
    const answer = await fetch(url, { signal });
    await answer.body?.cancel();
    if (answer.status === status) return performance.now() - startedMs;
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
}

async function post(
  url: string,
  body: object,
): Promise<{ readonly status: number; readonly body: Record<string, string> }> {
  const response = await fetch(`${url}/aggregate-signatures`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

/** The answer has one field, the signed message in hex without a prefix, which the reference node accepts. */
async function expectSigned(url: string, body: { readonly message: string; readonly 'signing-subnet-id'?: string }) {
  const answer = await post(url, body);
  expect(answer).toEqual({ status: 200, body: { 'signed-message': expect.stringMatching(/^[0-9a-f]+$/) } });
  const params = {
    signedMessage: answer.body['signed-message'] as string,
    subnetID: body['signing-subnet-id'] || PRIMARY_NETWORK_ID,
    height: 'proposed' as const,
    ...{ quorumNum: 67, quorumDen: 100 },
  };
  expect(await network().onChain('verify', params)).toMatchObject({ failure: '' });
}

/** The process IDs whose environment has the mark of a start. */
function processesOf(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${MARK}=${mark}`);
      } catch {
        return false;
      }
    });
}

test('it is up in time, answers as the Go service documents, and leaves no process', async () => {
  const { conversion, cChainID, subnetID } = network();
  const { message } = await emitMessage(network(), cChainID, '0x01');
  let mark: string;
  {
    await using binary = await start([launcher, '--config-file', writeFile(goFile(network()))], withoutNode);
    ({ mark } = binary);
    expect(await msUntil(400, `${binary.api}/aggregate-signatures`, binary)).toBeLessThan(MAX_UNTIL_400_MS);
    expect(await msUntil(200, `${binary.api}/health`, binary)).toBeLessThan(MAX_UNTIL_HEALTHY_MS);

    // The process that was started is the service, and there is no other.
    expect(processesOf(mark)).toEqual([binary.child.pid]);
    expect(readlinkSync(`/proc/${binary.child.pid}/exe`)).toMatch(/\/node$/);

    // The example of the README there, and the request with every field.
    await expectSigned(binary.api, { message });
    const full = {
      ...{ message: message.replace(/^0x/, ''), justification: '', 'signing-subnet-id': PRIMARY_NETWORK_ID },
      ...{ 'quorum-percentage': 67, 'quorum-percentage-buffer': 0, 'pchain-height': 0 },
    };
    await expectSigned(binary.api, full);
    await expectSigned(binary.metrics, full);
    expect(await post(binary.api, { message: unknownTwin({ message }) })).toEqual({
      status: 500,
      body: { error: expect.stringMatching(/signature weight is insufficient/) },
    });
    await expectSigned(binary.api, {
      ...{ message: conversion.message, justification: conversion.justification },
      'signing-subnet-id': subnetID,
    });
    for (const url of [binary.api, binary.metrics]) {
      expect(await (await fetch(`${url}/metrics`)).text()).toContain('\nsignature_aggregator_agg_sigs_req_count ');
      expect((await fetch(`${url}/health`)).status).toBe(200);
    }
  }
  expect(processesOf(mark)).toEqual([]);
});
