import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createTestServer } from './api-fixture.ts';

test('requests are counted by method, route and status, and what has no route has one label for all', async () => {
  const registry = new Registry();
  const server = await createTestServer({ registry });
  for (const url of ['/health/live', '/health/live', '/no/such/a', '/no/such/b', '/health/ready/nowhere'])
    await server.inject(url);
  const shown = (await registry.metrics()).split('\n');
  const counted = shown.filter((line) => line.startsWith('signature_aggregator_http_requests_total{'));
  expect(counted.toSorted()).toEqual([
    'signature_aggregator_http_requests_total{method="GET",route="/health/live",status="200"} 2',
    'signature_aggregator_http_requests_total{method="GET",route="/health/ready/:network",status="404"} 1',
    'signature_aggregator_http_requests_total{method="GET",route="none",status="404"} 2',
  ]);
  expect(shown).toContain(
    'signature_aggregator_http_request_duration_seconds_count{route="/health/live",status_class="2xx"} 2',
  );
  expect(shown).toContain('signature_aggregator_http_requests_in_flight 0');
});
