import { Counter, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerHealth } from '../../../../src/api/health/health.ts';
import type { Server } from '../../../../src/http/request/http-server.ts';
import { createNetworkOfPath } from '../../../../src/http/request/network-of-path.ts';
import { createMetricsText, openMetricsServer } from '../../../../src/http/server/metrics-server.ts';
import { systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { createTestServer, listenerOptions, scriptedNetwork } from '../../api/api-fixture.ts';

const networks = [scriptedNetwork()];
const registerMore = (server: Server): void =>
  registerHealth(server, networks, createNetworkOfPath(networks), listenerOptions());

function registryWithOne(): Registry {
  const registry = new Registry();
  new Counter({ name: 'things_total', help: 'Things', registers: [registry] }).inc();
  return registry;
}

test('serves metrics and probes', async () => {
  const registry = registryWithOne();
  await using server = await openMetricsServer({ ...listenerOptions({ registry }), registerMore }, '127.0.0.1', 0);
  const answer = await fetch(server.url);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, registry.contentType]);
  expect(await answer.text()).toContain('things_total 1');
  const head = await fetch(`${server.url}?x=1`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await fetch(server.url, { method: 'POST' })).status).toBe(404);
  for (const [path, status] of [
    ['/health/live', 200],
    ['/health/ready', 200],
    ['/openapi.json', 404],
  ] as const) {
    expect((await fetch(new URL(path, server.url))).status).toBe(status);
  }
});

test('pages of other origins cannot read the metrics at their separate address', async () => {
  const options = { ...listenerOptions({ registry: registryWithOne() }), corsOrigins: ['*'] };
  await using server = await openMetricsServer(options, '127.0.0.1', 0);
  const { headers } = await fetch(server.url, { headers: { origin: 'https://page.example' } });
  expect(headers.get('access-control-allow-origin')).toBeNull();
});

test('concurrent requests share one rendering', async () => {
  const registry = new Registry();
  let renderings = 0;
  registry.metrics = async () => {
    renderings += 1;
    return `rendering ${renderings}`;
  };
  const text = createMetricsText(registry, systemClock);
  const crowd = await Promise.all(Array.from({ length: 1_000 }, text));
  expect([renderings, new Set(crowd).size, String(crowd[0])]).toEqual([1, 1, 'rendering 1']);
  expect(String(await text())).toBe('rendering 2');
});

test('a port in use is an error that names the setting', async () => {
  const registry = registryWithOne();
  await using server = await openMetricsServer(listenerOptions({ registry }), '127.0.0.1', 0);
  const port = Number(new URL(server.url).port);
  await expect(openMetricsServer(listenerOptions({ registry }), '127.0.0.1', port)).rejects.toMatchObject({
    cause: { code: 'EADDRINUSE', syscall: 'listen' },
    settings: { port: 'metrics.port' },
  });
});

test('the public server has the metrics only if they have no separate address', async () => {
  const path = '/metrics';
  expect((await (await createTestServer()).inject(path)).statusCode).toBe(200);
  expect((await (await createTestServer({ areMetricsElsewhere: true })).inject(path)).statusCode).toBe(404);
});
