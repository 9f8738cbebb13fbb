import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { afterAll, expect, test } from 'vitest';
import { diagnose } from '../../../src/cli/doctor/doctor.ts';
import { formatReport } from '../../../src/cli/doctor/report-text.ts';
import { DoctorReport, type ValidatorReport } from '../../../src/cli/probes/report.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import type { Behaviour } from '../../devnet/behaviour.ts';
import { setBehaviour, startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { runCommand } from '../../unit/cli/run-command.ts';
import { holdClosedPort } from '../closed-port.ts';

const TIMEOUT_MS = 60_000;
const LIMITS = { maxConnectMs: 30_000, quietMs: 1_000 };
const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
const devnet = await startFaultyDevnet({ validators: 8, clock: systemClock, logger: createLogger('silent') });
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await devnet[Symbol.asyncDispose]();
});

const settings = (network: object = {}, more: object = {}) => ({
  server: { port: 0 },
  networks: {
    mine: { pChainApi: [{ baseUrl: devnet.apiUrl }], trackedSubnetIds: [devnet.subnets.l1.subnetID], ...network },
  },
  ...more,
});

async function doctor(network?: object, more?: object) {
  const report = await diagnose(parseConfig(settings(network, more), {}, {}).config, {}, LIMITS);
  expect([...Value.Errors(DoctorReport, report)]).toEqual([]);
  // No field is missing in the schema.
  expect(Value.Clean(DoctorReport, structuredClone(report))).toEqual(report);
  const found = report.findings.map(({ severity, subject, text }) => `${severity} ${subject}: ${text}`);
  return { report, found, network: report.networks[0]! };
}

function writeConfig(content: object): string {
  const path = join(folder, `${Math.random()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

test('a devnet that works: every call, both sets, all validators', { timeout: TIMEOUT_MS }, async () => {
  const { blockchainID } = devnet.subnets.l1;
  const chainRpc = { [blockchainID]: { baseUrl: `${devnet.apiUrl}/ext/bc/${blockchainID}/rpc` } };
  const { report, found, network } = await doctor({ chainRpc });
  expect(found).toEqual([expect.stringMatching(/^note identity: a temporary NodeID/)]);
  const [endpoint] = network.endpoints;
  expect(endpoint?.calls.filter(({ outcome }) => outcome !== 'works')).toEqual([]);
  expect(endpoint?.clockOffsetMs).toBeTypeOf('number');
  expect(endpoint?.heights.map(({ form, depth, outcome }) => `${form} ${depth} ${outcome}`)).toEqual([
    'proposed 0 works',
    'number 0 works',
    'number 10 works',
    'number 100 works',
    'number 1000 skipped',
    'number 100000 skipped',
  ]);
  expect(network.others.map(({ method, outcome }) => `${method} ${outcome}`)).toEqual([
    'eth_getTransactionReceipt works',
    'eth_getChainConfig works',
  ]);
  const [primary, l1] = network.subnets;
  expect(primary).toMatchObject({ isTracked: false, reachedPercent: 100, validators: 8 });
  expect(l1).toMatchObject({ isTracked: true, askedChainId: devnet.subnets.l1.blockchainID });
  for (const { tcp, tls, handshake, answer } of [...primary!.heaviest, ...l1!.heaviest]) {
    expect([tcp.outcome, tls.outcome, handshake.outcome, answer.outcome]).toEqual(['ok', 'ok', 'ok', 'refused']);
    expect(answer.code).toBeGreaterThan(0);
  }
  expect(report.identity).toMatchObject({ kind: 'temporary' });
});

test('each validator that cannot sign is shown with its stage and cause', { timeout: TIMEOUT_MS }, async () => {
  const faults: readonly (readonly [
    number,
    Behaviour['kind'] & ('not admitting' | 'hanging TLS' | 'silent' | 'wrong certificate'),
  ])[] = [
    [1, 'not admitting'],
    [2, 'hanging TLS'],
    [3, 'silent'],
    [4, 'wrong certificate'],
  ];
  for (const [index, kind] of faults) setBehaviour(devnet.validator(index), { kind });
  // A node that is gone, and whose address is still known.
  await using closed = await holdClosedPort();
  await devnet.validator(5).stop();
  const gone = { nodeId: devnet.nodeIDs[5], address: `127.0.0.1:${closed.port}` };
  try {
    const { found, network } = await doctor({ manuallyTrackedPeers: [gone] });
    const byID = new Map(network.subnets[0]!.heaviest.map((validator) => [validator.nodeId, validator]));
    const shown = (index: number): string => {
      const { tcp, tls, handshake, cause, answer } = byID.get(devnet.nodeIDs[index] ?? '') as ValidatorReport;
      return [tcp.outcome, tls.outcome, handshake.outcome, cause ?? 'connected', answer.outcome].join(' ');
    };
    expect([1, 2, 3, 4, 5].map(shown)).toEqual([
      'ok ok failed not_admitted not_asked',
      'ok failed not_reached tls not_asked',
      'ok ok ok connected timed_out',
      'ok failed not_reached wrong_node not_asked',
      'failed not_reached not_reached tcp_refused not_asked',
    ]);
    expect(found).toContainEqual(
      expect.stringMatching(/^(problem|note) mine primary network: .* of the weight is reached/),
    );
    expect(found).toContainEqual(expect.stringContaining('it answers pings, but drops requests'));
  } finally {
    for (const [index] of faults) setBehaviour(devnet.validator(index), { kind: 'normal' });
    await devnet.validator(5).start();
  }
});

test('private addresses are the main cause where they may not be dialled', { timeout: TIMEOUT_MS }, async () => {
  const { found } = await doctor({ allowPrivateAddresses: false, trackedSubnetIds: [] });
  expect(found[0]).toMatch(
    /^problem mine primary network: 0 % .*: [\d.]+ % has private addresses: set networks\.mine\.allowPrivateAddresses/,
  );
});

test('APIs, Redis and upstreams that do not answer are found, and keys are masked', {
  timeout: TIMEOUT_MS,
}, async () => {
  await using closed = await holdClosedPort();
  const baseUrl = `http://127.0.0.1:${closed.port}/key-in-the-path`;
  const endpoint = {
    baseUrl,
    httpHeaders: { 'x-key': 'key-in-a-header' },
    queryParameters: { key: 'key-in-the-query' },
  };
  const { report, found } = await doctor(
    { pChainApi: [endpoint], chainRpc: { C: endpoint } },
    {
      upstream: { metrics: endpoint },
      store: {
        sharedUrl: `redis://user:key-of-redis@127.0.0.1:${closed.port}`,
        sharedSecret: 'key-of-the-seal-of-shared-values',
      },
    },
  );
  expect(found).toEqual([
    expect.stringMatching(
      /^problem mine pChainApi\[0\], infoApi\[0\]: it serves no call: nothing listens .*ECONNREFUSED/,
    ),
    expect.stringMatching(/^warning mine chainRpc\.C: /),
    expect.stringMatching(/^warning upstream\.metrics: /),
    expect.stringMatching(/^warning Redis: /),
    expect.stringMatching(/^note identity: /),
  ]);
  expect(`${JSON.stringify(report)}${formatReport(report)}`).not.toMatch(/key-/);
});

test('the command prints text or JSON, and its exit code is the verdict', { timeout: TIMEOUT_MS }, async () => {
  await using closed = await holdClosedPort();
  const works = await runCommand(['doctor', '--config', writeConfig(settings()), '--json']);
  expect(works).toMatchObject({ code: 0, err: expect.stringMatching(/^trying the configuration/) });
  expect(Value.Check(DoctorReport, JSON.parse(works.out))).toBe(true);
  const down = writeConfig(settings({ pChainApi: [{ baseUrl: `http://127.0.0.1:${closed.port}` }] }));
  const broken = await runCommand(['doctor', '--config', down]);
  expect({ code: broken.code, out: broken.out }).toEqual({ code: 1, out: expect.stringContaining('✗ problem') });
  expect(await runCommand(['doctor', '--config', down, '--own-identity'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('the configuration names no identity'),
  });
});

test('without a configuration it tries a devnet of its own', { timeout: TIMEOUT_MS }, async () => {
  const { code, out } = await runCommand(['doctor'], { env: { SIGNATURE_AGGREGATOR_SERVER__PORT: '0' } });
  expect(code).toBe(0);
  expect(out).toContain('100 % of the weight reached');
  expect(out).toContain('a devnet on this machine: no other network was tried');
});
