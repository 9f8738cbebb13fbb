import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { openTraceSdk, type TraceSdk } from '../../../src/telemetry/trace-sdk.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts';

/** The most spans that wait or are on their way. */
const MAX_SPANS = 8_192;
const MAX_BATCH = 512;

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20secret');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await receiver[Symbol.asyncDispose]();
});

function open() {
  const clock = new FakeClock();
  const log = createLogLines();
  const registry = new Registry();
  const sdk = openTraceSdk({
    service: { name: 'under-test', version: '1.2.3' },
    sampling: { ratio: 1, isParentBased: true },
    clock,
    logger: log.logger,
    metrics: createMetrics(registry),
  });
  const spans = async (outcome: string) =>
    (await registry.getSingleMetric('signature_aggregator_trace_spans_total')?.get())?.values.find(
      ({ labels }) => labels['outcome'] === outcome,
    )?.value ?? 0;
  return { sdk, clock, log, spans, registry };
}

function make({ tracer }: TraceSdk, count: number): void {
  for (let index = 0; index < count; index += 1) tracer.root('made', 'server', {}).end();
}

describe('the export of traces', () => {
  test.each(['none', 'gzip'])('sends what is left when the service stops; compression: %s', async (compression) => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', compression);
    const { sdk, spans, log, registry } = open();
    // The first loss is a step from 0, and not the first value.
    const lines = (await registry.getSingleMetricAsString('signature_aggregator_trace_spans_total')).split('\n');
    expect(lines.filter((line) => line.endsWith(' 0'))).toHaveLength(2);
    make(sdk, 3);
    await sdk[Symbol.asyncDispose]();
    expect(receiver.spans).toHaveLength(3);
    expect(receiver.spans[0]?.resource).toMatchObject({ 'service.name': 'under-test', 'service.version': '1.2.3' });
    expect(receiver.requests).toMatchObject([
      {
        path: '/v1/traces',
        headers: { authorization: 'Bearer secret', 'content-type': 'application/x-protobuf' },
      },
    ]);
    expect(receiver.requests[0]?.headers['content-encoding']).toBe(compression === 'gzip' ? 'gzip' : undefined);
    expect(await spans('exported')).toBe(3);
    expect(log.lines).toEqual([]);
  });

  test('takes the resource of the spans from the variables', async () => {
    vi.stubEnv('OTEL_SERVICE_NAME', 'named');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'service.name=other,deployment.environment.name=prod%2C1');
    const { sdk } = open();
    make(sdk, 1);
    await sdk[Symbol.asyncDispose]();
    expect(receiver.spans[0]?.resource).toEqual({
      'service.name': 'named',
      'service.version': '1.2.3',
      'deployment.environment.name': 'prod,1',
    });
  });

  test('waits at the end for all batches, and counts those that fail', async () => {
    const { sdk, spans } = open();
    receiver.status = 400;
    make(sdk, MAX_BATCH);
    await expect.poll(() => receiver.requests.length).toBe(1);
    receiver.status = 200;
    make(sdk, 2 * MAX_BATCH);
    await sdk[Symbol.asyncDispose]();
    expect(receiver.spans).toHaveLength(2 * MAX_BATCH);
    expect([await spans('exported'), await spans('failed')]).toEqual([2 * MAX_BATCH, MAX_BATCH]);
  });

  test('logs failures once a minute, without address or key', async () => {
    const { sdk, clock, spans, log } = open();
    receiver.status = 400;
    for (let batch = 1; batch <= 3; batch += 1) {
      make(sdk, MAX_BATCH);
      await expect.poll(() => spans('failed')).toBe(batch * MAX_BATCH);
    }
    expect(log.records()).toEqual([
      { level: 'warn', reason: 'HTTP status 400', spans: MAX_BATCH, msg: 'traces could not be exported' },
    ]);
    await clock.advance(60_000);
    make(sdk, MAX_BATCH);
    await expect.poll(() => spans('failed')).toBe(4 * MAX_BATCH);
    expect(log.records().slice(1)).toMatchObject([{ omitted: 2 }]);
    expect(log.lines.join('')).not.toMatch(/secret|127\.0\.0\.1/);
    await sdk[Symbol.asyncDispose]();
  });

  test('holds so many spans and drops the rest, and gives up a collector that hangs when the service stops', async () => {
    const { sdk, clock, spans, log } = open();
    receiver.status = undefined;
    make(sdk, MAX_SPANS + 10);
    expect(await spans('dropped')).toBe(10);
    await expect.poll(() => receiver.requests.length).toBe(1);
    const closing = sdk[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await closing;
    expect(log.count('the last traces are lost')).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('sends nothing to a failing collector once the service has stopped', async () => {
    const { sdk, clock, spans } = open();
    receiver.status = 503;
    make(sdk, 3);
    const closing = sdk[Symbol.asyncDispose]();
    await expect.poll(() => receiver.requests.length).toBe(1);
    await clock.advance(2_000);
    await closing;
    await expect.poll(() => spans('failed')).toBe(3);
    expect(receiver.requests).toHaveLength(1);
  });

  test('names a variable that cannot be used, and sends no header that cannot be sent', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '-1');
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'a=%0d%0asecret');
    const { sdk, spans, log } = open();
    expect(log.lines.join('')).toContain('OTEL_EXPORTER_OTLP_TIMEOUT');
    make(sdk, 3);
    await sdk[Symbol.asyncDispose]();
    expect(await spans('failed')).toBe(3);
    expect(log.lines.join('')).not.toContain('secret');
  });
});
