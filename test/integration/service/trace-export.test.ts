import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { openTraceSdk, type TraceSdk } from '../../../src/telemetry/trace-sdk.ts';
import { FakeClock } from '../../fake-clock.ts';
import { createLogLines } from '../../log-lines.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../otlp-receiver.ts';

/** The most spans that wait or are on their way. */
const MAX_SPANS = 8_192;
const MAX_BATCH = 512;

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
});

function open(more: { readonly isCompressed?: boolean } = {}) {
  const clock = new FakeClock();
  const log = createLogLines();
  const registry = new Registry();
  const sdk = openTraceSdk({
    url: `${receiver.url}/v1/traces`,
    headers: { authorization: 'Bearer secret' },
    timeoutMs: 10_000,
    isCompressed: false,
    resource: { 'service.name': 'under-test' },
    sampling: { ratio: 1, isParentBased: true },
    random: () => 0.5,
    ...{ clock, logger: log.logger, metrics: createMetrics(registry) },
    ...more,
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

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}

describe('the export of traces', () => {
  test.each([false, true])('sends what is left when the service stops; compressed: %s', async (isCompressed) => {
    const { sdk, spans, log, registry } = open({ isCompressed });
    // The first loss is a step from 0, and not the first value.
    const lines = (await registry.getSingleMetricAsString('signature_aggregator_trace_spans_total')).split('\n');
    expect(lines.filter((line) => line.endsWith(' 0'))).toHaveLength(2);
    make(sdk, 3);
    await sdk[Symbol.asyncDispose]();
    expect(receiver.spans).toHaveLength(3);
    expect(receiver.requests).toMatchObject([
      {
        path: '/v1/traces',
        headers: { authorization: 'Bearer secret', 'content-type': 'application/x-protobuf' },
      },
    ]);
    expect(receiver.requests[0]?.headers['content-encoding']).toBe(isCompressed ? 'gzip' : undefined);
    expect(await spans('exported')).toBe(3);
    expect(log.lines).toEqual([]);
  });

  test('waits at the end for what is on its way', async () => {
    const { sdk, clock } = open();
    receiver.status = 503;
    make(sdk, MAX_BATCH);
    await until(() => receiver.requests.length === 1 && clock.pendingTimers === 2);
    receiver.status = 200;
    const closing = sdk[Symbol.asyncDispose]();
    await clock.advance(500);
    await closing;
    expect(receiver.spans).toHaveLength(MAX_BATCH);
  });

  test('tries again what may pass, at most four times within the deadline, and not what does not pass', async () => {
    const { sdk, clock, spans } = open();
    receiver.status = 503;
    make(sdk, MAX_BATCH);
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await until(() => receiver.requests.length === attempt);
      if (attempt < 4) await until(() => clock.pendingTimers === 2);
      await clock.advance(2_000);
    }
    await until(async () => (await spans('failed')) === MAX_BATCH);
    receiver.status = 400;
    make(sdk, MAX_BATCH);
    await until(async () => (await spans('failed')) === 2 * MAX_BATCH);
    expect(receiver.requests).toHaveLength(5);
    await sdk[Symbol.asyncDispose]();
    expect(clock.pendingTimers).toBe(0);
  });

  test('says once a minute that it fails, without address or key', async () => {
    const { sdk, clock, spans, log } = open();
    receiver.status = 400;
    for (let batch = 1; batch <= 3; batch += 1) {
      make(sdk, MAX_BATCH);
      await until(async () => (await spans('failed')) === batch * MAX_BATCH);
    }
    expect(log.lines.map((line) => JSON.parse(line))).toEqual([
      { level: 40, reason: 'HTTP status 400', spans: MAX_BATCH, msg: 'traces could not be exported' },
    ]);
    await clock.advance(60_000);
    make(sdk, MAX_BATCH);
    await until(async () => (await spans('failed')) === 4 * MAX_BATCH);
    expect(log.lines).toHaveLength(2);
    expect(JSON.parse(log.lines[1] as string)).toMatchObject({ omitted: 2 });
    expect(log.lines.join('')).not.toMatch(/secret|127\.0\.0\.1/);
    await sdk[Symbol.asyncDispose]();
  });

  test('holds so many spans and drops the rest, and gives up a collector that hangs when the service stops', async () => {
    const { sdk, clock, spans, log } = open();
    receiver.status = undefined;
    make(sdk, MAX_SPANS + 10);
    expect(await spans('dropped')).toBe(10);
    await until(() => receiver.requests.length === 1);
    const closing = sdk[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await closing;
    expect(await spans('failed')).toBe(MAX_SPANS);
    expect(log.count('the last traces are lost')).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });
});
