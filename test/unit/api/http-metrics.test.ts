import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { AggregatorError } from '../../../src/aggregator/aggregator-error.ts';
import { bytesToHex } from '../../../src/primitives/bytes.ts';
import { type BlockchainID, idFromBytes } from '../../../src/primitives/ids.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { createTestServer, scriptedAggregator } from './api-fixture.ts';

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

test('a bug is counted as an internal error, and nothing else that has the status 500', async () => {
  const registry = new Registry();
  const answers = [new AggregatorError('insufficient_weight', 'too little weight signed'), new Error('a bug')];
  const { aggregator } = scriptedAggregator(() => Promise.reject(answers.shift() as Error));
  const server = await createTestServer({ registry, aggregator });
  const chain = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
  const payload = { message: bytesToHex(createUnsignedMessage(5, chain, Uint8Array.of(1)).bytes) };
  const counted = async () =>
    (await registry.metrics()).split('\n').find((line) => line.startsWith('signature_aggregator_http_internal_errors'));
  for (const count of [0, 1]) {
    expect((await server.inject({ method: 'POST', url: '/aggregate-signatures', payload })).statusCode).toBe(500);
    expect(await counted()).toBe(`signature_aggregator_http_internal_errors_total ${count}`);
  }
});
