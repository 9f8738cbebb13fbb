import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type App, startApp } from '../../../src/app/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import type { Devnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

import type { Behaviour } from '../../devnet/behaviour.ts';
import { setBehaviour } from '../../devnet/faulty-validator.ts';
import { GO_METRIC_TYPES } from '../../support/go-metric-types.ts';
import { type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const PATH = '/aggregate-signatures';
const CHECK = 'signature-aggregator-health';

interface GoAnswer {
  readonly status: number;
  readonly body: { readonly 'signed-message'?: string; readonly error?: string };
}

async function postTo(url: string, body: object): Promise<GoAnswer> {
  // As a Go client does; and as `curl --data` does, no media type of ours.
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as GoAnswer['body'] };
}

/** The samples of a scrape by name with labels, and the types by name. */
async function scrape(url: string) {
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).trimEnd().split('\n');
  const samples = new Map(
    lines.filter((line) => !line.startsWith('#')).map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]),
  );
  const types = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.slice('# TYPE '.length));
  return { types, value: (name: string) => samples.get(`signature_aggregator_${name}`), names: [...samples.keys()] };
}

describe("the Go aggregator's ports", { timeout: TIMEOUT_MS }, () => {
  let service: RunningService;
  let url: { readonly api: string; readonly metrics: string };
  let devnet: Devnet;
  beforeAll(async () => {
    service = await startService(6, { settings: { network: { goApi: { apiPort: 0, metricsPort: 0 } } } });
    const { api = '', metrics = '' } = service.app.goUrls.get('local') ?? {};
    url = { api, metrics };
    devnet = service.devnet;
  }, TIMEOUT_MS);
  afterAll(() => service[Symbol.asyncDispose]());
  const post = (body: object) => postTo(`${url.api}${PATH}`, body);
  const newMessage = () => devnet.emitMessages(1)[0] as string;
  test('have the health in its form', async () => {
    for (const at of [url.api, url.metrics]) {
      const response = await fetch(`${at}/health`);
      expect(response.status).toBe(200);
      const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(await response.json()).toEqual({ status: 'up', details: { [CHECK]: { status: 'up', timestamp } } });
    }
  });

  test('have its metrics by their names and types, and no others', async () => {
    const before = await scrape(`${url.metrics}/metrics`);
    expect(before.types.map((line) => line.replace('signature_aggregator_', ''))).toEqual(GO_METRIC_TYPES);
    const { subnetID } = devnet.subnets.primary;
    expect(before.value(`connected_stake_weight_percentage{subnetID="${subnetID}"}`)).toBe(100);
    const message = newMessage();
    await post({ message, 'quorum-percentage': 100 });
    await postTo(`${service.app.url}${PATH}`, { message, 'quorum-percentage': 80 });
    const unknown = bytesToHex(devnet.chains.C.prepare(new TextEncoder().encode('not this one either')).bytes);
    await post({ message: unknown });
    const after = await scrape(`${url.metrics}/metrics`);
    const grown = (name: string) => (after.value(name) ?? 0) - (before.value(name) ?? 0);
    expect(grown('agg_sigs_req_count')).toBe(3);
    expect(grown('app_request_count')).toBeGreaterThanOrEqual(6 + 3);
    expect(grown('signature_cache_misses')).toBeGreaterThanOrEqual(6);
    expect(grown('signature_cache_hits')).toBeGreaterThanOrEqual(5);
    expect(after.value('agg_sigs_latency_ms')).toBeGreaterThan(0);
    // They refused, and a refusal is an answer.
    expect(grown('validator_timeouts')).toBe(0);
    expect(after.names.every((name) => name?.startsWith('signature_aggregator_'))).toBe(true);
  });
});

test(
  'a network with unreachable validators is down, and has metrics',
  async () => {
    // A request waits 30 s for the API: each call to it takes longer.
    let elapsedMs = 0;
    await using api = createServer((request) => {
      elapsedMs += 31_000;
      request.socket.destroy();
    });
    await once(api.listen(0, '127.0.0.1'), 'listening');
    const baseUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const networks = {
      // The network ID is known, so the network is opened without connections.
      fuji: { pChainApi: [{ baseUrl }], goApi: { apiPort: 0, metricsPort: 0 } },
      own: { embedded: { validators: 5 }, goApi: { metricsPort: 0 } },
    };
    const { config } = parseConfig({ networks, server: { port: 0 }, access: { unitsPerMinute: 0 } }, {}, {});
    const app: App = await startApp({
      config,
      logger: createLogger('silent'),
      clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + elapsedMs },
      random: Math.random,
    });
    const fuji = app.goUrls.get('fuji');
    try {
      const response = await fetch(`${fuji?.api}/health`);
      expect(response.status).toBe(503);
      const details = { [CHECK]: { status: 'down', timestamp: expect.any(String), error: expect.stringMatching(/./) } };
      expect(await response.json()).toEqual({ status: 'down', details });
      const probe = await fetch(`${fuji?.api}${PATH}`);
      expect([probe.status, await probe.text()]).toEqual([400, '{"error":"Could not decode request body"}']);
      const message = `000000000005${'00'.repeat(32)}00000000`;
      const failed = await postTo(`${fuji?.api}${PATH}`, { message, 'pchain-height': 5 });
      expect(failed).toEqual({
        status: 500,
        body: { error: expect.stringMatching(/^failed to connect to a threshold of stake: /) },
      });
      const figures = await scrape(`${fuji?.metrics}/metrics`);
      expect([figures.value('agg_sigs_req_count'), figures.value('failures_to_get_validator_set')]).toEqual([2, 1]);
      // Each port has the metrics of one network.
      expect(app.goUrls.get('own')?.api).toBeUndefined();
      const own = await scrape(`${app.goUrls.get('own')?.metrics}/metrics`);
      expect(own.value('agg_sigs_req_count')).toBe(0);
    } finally {
      await app[Symbol.asyncDispose]();
    }
    await expect(fetch(`${fuji?.api}/health`)).rejects.toThrow();
    await expect(fetch(`${fuji?.metrics}/metrics`)).rejects.toThrow();
  },
  TIMEOUT_MS,
);

test(
  'failures of validators are counted by kind',
  async () => {
    await using service = await startService(7, {
      settings: {
        network: { goApi: { metricsPort: 0 } },
        aggregation: { requestTimeoutMs: 3_000 },
        limits: { aggregation: { peerTimeoutMs: 300, hedgeAfterMs: 100 } },
      },
    });
    const { devnet, app } = service;
    const kinds: readonly (readonly [string, Behaviour])[] = [
      ['validator_timeouts', { kind: 'silent' }],
      ['invalid_signature_responses', { kind: 'garbage signature', length: 10 }],
      ['failures_sending_to_node', { kind: 'disconnecting', when: 'before' }],
    ];
    for (const [name, behaviour] of kinds) {
      setBehaviour(devnet.validator(0), behaviour);
      const answer = await service.post({ message: devnet.emitMessages(1)[0], quorumPercentage: 100 });
      expect(answer.status).toBeGreaterThanOrEqual(500);
      const figures = await scrape(`${app.goUrls.get('local')?.metrics}/metrics`);
      expect({ name, value: figures.value(name) }).toEqual({ name, value: expect.toSatisfy((value) => value > 0) });
    }
  },
  TIMEOUT_MS,
);

test('a subnet that is not allowed is 403 in either form', { timeout: TIMEOUT_MS }, async () => {
  await using service = await startService(5, { settings: { network: { allowedSubnetIds: [] } } });
  const { l1 } = service.devnet.subnets;
  const message = service.devnet.emitMessages(1)[0] as string;
  expect(await service.post({ message })).toMatchObject({ status: 201 });
  const ofL1 = { message, signingSubnetId: l1.subnetID };
  expect(await service.post(ofL1)).toMatchObject({ status: 403, body: { code: 'subnet_not_allowed' } });
  expect(await postTo(`${service.app.url}${PATH}`, { message, 'signing-subnet-id': l1.subnetID })).toEqual({
    status: 403,
    body: { error: expect.stringMatching(/^failed to aggregate signatures: signing-subnet-id: /) },
  });
  await using other = await service.another({ network: { allowedSubnetIds: [l1.subnetID] } });
  expect(await other.post(ofL1)).toMatchObject({ status: 201 });
});
