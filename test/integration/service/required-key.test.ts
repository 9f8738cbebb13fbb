import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const KEY = 'secret of a bridge';
const apiKeys = [{ name: 'bridge', sha256: createHash('sha256').update(KEY).digest('hex') }];
const NETWORK = '/v1/signatureAggregator/fuji';

describe('where access.requireKey is true', { timeout: TIMEOUT_MS }, () => {
  let service: RunningService;
  let goUrl: string;
  beforeAll(async () => {
    service = await startService(5, {
      settings: { access: { apiKeys, requireKey: true }, network: { goApi: { apiPort: 0, metricsPort: 0 } } },
    });
    goUrl = service.app.goUrls.get('local')?.api ?? '';
  }, TIMEOUT_MS);
  afterAll(() => service[Symbol.asyncDispose]());

  const statusOf = async (url: string, options: RequestInit = {}): Promise<number> => {
    const response = await fetch(url, options);
    await response.body?.cancel();
    return response.status;
  };
  const post = (headers: Record<string, string>): RequestInit => ({ method: 'POST', body: '{}', headers });
  const json = { 'content-type': 'application/json' };

  test('a request without a key is 401 in every group of routes, and one with a key is not', async () => {
    for (const path of [`${NETWORK}/subnets`, '/v1/requests', '/v1/chains/1/blocks/2']) {
      const { status, body } = await service.get(path);
      expect({ path, status, body }).toMatchObject({ path, status: 401, body: { code: 'unauthorized' } });
      expect(await statusOf(`${service.app.url}${path}`, { headers: { 'x-service-api-key': KEY } })).not.toBe(401);
    }
    for (const path of [`${NETWORK}/aggregateSignatures`, `${NETWORK}/verify`, '/ext/bc/P', '/aggregate-signatures']) {
      expect([path, await statusOf(`${service.app.url}${path}`, post(json))]).toEqual([path, 401]);
      expect(await statusOf(`${service.app.url}${path}`, post({ ...json, 'x-service-api-key': KEY }))).not.toBe(401);
    }
  });

  test('a wrong key is not advised to be left out', async () => {
    const { body } = await service.post({}, `${NETWORK}/aggregateSignatures`, { 'x-service-api-key': 'wrong' });
    expect(body).toMatchObject({ code: 'unauthorized', message: 'the API key is not known here' });
  });

  test('it holds on the ports of the Go aggregator, where health and metrics are free', async () => {
    expect(await statusOf(`${goUrl}/aggregate-signatures`, post({}))).toBe(401);
    expect(await statusOf(`${goUrl}/aggregate-signatures`, post({ 'x-service-api-key': KEY }))).not.toBe(401);
    expect(await statusOf(`${goUrl}/health`)).toBe(200);
    expect(await statusOf(`${service.app.goUrls.get('local')?.metrics}/metrics`)).toBe(200);
  });

  test('health, metrics, documents, the console and CORS preflights need no key', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs', '/']) {
      expect([path, await statusOf(`${service.app.url}${path}`)]).toEqual([path, 200]);
    }
    const preflight = { origin: 'https://bridge.example', 'access-control-request-method': 'POST' };
    const url = `${service.app.url}${NETWORK}/aggregateSignatures`;
    expect(await statusOf(url, { method: 'OPTIONS', headers: preflight })).toBe(204);
  });
});

test('a key cannot be required where there is none', () => {
  const load = (access: object) => parseConfig({ networks: { local: { embedded: {} } }, access }, {}, {});
  expect(() => load({ requireKey: true })).toThrow(
    'access: requireKey needs apiKeys: without a key nobody could use the service',
  );
  expect(load({ requireKey: true, apiKeys }).config.access.requireKey).toBe(true);
});
