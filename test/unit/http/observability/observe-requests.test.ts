import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import type { Aggregator } from '../../../../src/aggregation/stages/aggregator.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { P_CHAIN_ID } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createTestServer, PATH, RESULT, scriptedAggregator } from '../../api/api-fixture.ts';

test('requests are counted by method, route and status; paths without a route share a label', async () => {
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

test('durations leave out the time in which a transaction was awaited', async () => {
  const registry = new Registry();
  const clock = new FakeClock();
  const aggregator: Aggregator = {
    async aggregate(_request, options) {
      await clock.advance(7_500);
      options.onPhase?.('execution', options.waitMs ?? 0);
      return RESULT;
    },
  };
  const server = await createTestServer({ registry, aggregator, clock });
  const payload = { message: bytesToHex(createUnsignedMessage(5, P_CHAIN_ID, new Uint8Array()).bytes) };
  expect((await server.inject({ method: 'POST', url: `${PATH}?wait=7`, payload })).statusCode).toBe(201);
  expect(await registry.metrics()).toMatch(/http_request_duration_seconds_sum\{.*aggregateSignatures.*\} 0\.5$/m);
});

test('a bug is counted as an internal error, and a missed quorum is not', async () => {
  const registry = new Registry();
  const failures = [new AggregatorError('insufficient_weight', 'too little weight'), new Error('a bug')];
  const { aggregator } = scriptedAggregator(async () => {
    throw failures.shift() ?? new Error('a third one');
  });
  const server = await createTestServer({ registry, aggregator });
  const payload = { message: bytesToHex(createUnsignedMessage(5, P_CHAIN_ID, new Uint8Array()).bytes) };
  const bugs = async () =>
    /^signature_aggregator_http_internal_errors_total (.*)$/m.exec(await registry.metrics())?.[1];
  expect(await bugs()).toBe('0');
  expect((await server.inject({ method: 'POST', url: '/aggregate-signatures', payload })).statusCode).toBe(500);
  expect(await bugs()).toBe('0');
  expect((await server.inject({ method: 'POST', url: PATH, payload })).statusCode).toBe(500);
  expect(await bugs()).toBe('1');
});
