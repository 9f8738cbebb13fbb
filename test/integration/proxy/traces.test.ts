import { expect, test } from 'vitest';
import { createLogLines } from '../../support/log-lines.ts';
import { createMemorySpans } from '../../unit/telemetry/memory-spans.ts';
import { reply, sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const LIST = '/v1/networks/fuji/validators?pageSize=3';
const TRACE = 'ab'.repeat(16);
const CALLER = { traceparent: `00-${TRACE}-${'cd'.repeat(8)}-01`, tracestate: 'vendor=1' };
// Such a span ends when its answer was handed over, which the client may know before.
const SERVER = 'GET /v1/networks/:network/validators';

async function start() {
  const spans = createMemorySpans();
  const service = await startUpstreamService({ settings: { cacheBytes: 1_000_000 }, tracer: spans.tracer });
  return { spans, service, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

test('requests that share a question to an upstream link to it, and one that the cache answers does not', async () => {
  await using started = await start();
  const { spans, service } = started;
  const held = service.standIn.hold();
  const answers = [service.get(LIST, CALLER), service.get(LIST, CALLER)];
  await expect.poll(() => service.received()).toBe(2);
  sendJson(await held, 200, {});
  await Promise.all(answers);
  await service.get(LIST);
  await expect.poll(() => spans.ended(SERVER).length).toBe(3);

  const asked = spans.only('upstream fuji');
  const link = { context: asked.spanContext() };
  expect(spans.ended(SERVER).map(({ links }) => links)).toMatchObject([[link], [link], []]);
  expect(service.standIn.arrivals.map(({ headers }) => headers)).toMatchObject([
    { traceparent: `00-${TRACE}-${asked.spanContext().spanId}-01`, tracestate: 'vendor=1' },
  ]);
});

test('the span of an upstream that fails, and the line about it, lead to the trace of the request', async () => {
  const { logger, records } = createLogLines();
  const spans = createMemorySpans();
  await using failing = await startUpstreamService({ logger, tracer: spans.tracer });
  failing.standIn.behaviour = reply(500);
  await failing.get(LIST, { ...CALLER, 'x-request-id': 'mine' });
  await expect.poll(() => spans.ended(SERVER).length).toBe(1);
  expect(spans.only(SERVER)).toMatchObject({ parentSpanContext: { spanId: 'cd'.repeat(8) }, status: { code: 2 } });
  expect(spans.only('upstream fuji')).toMatchObject({
    parentSpanContext: { traceId: TRACE, spanId: spans.only(SERVER).spanContext().spanId },
    attributes: { 'http.response.status_code': 500 },
  });
  const line = records().find(({ msg }) => msg.includes('upstream failed'));
  expect(line).toMatchObject({ requestId: 'mine', traceId: TRACE });
});

test('probes and scrapes have no spans, and what has no route has no path', async () => {
  await using started = await start();
  const { spans, service } = started;
  await service.get('/health/live');
  await service.get('/nothing/here');
  await expect.poll(() => spans.ended().length).toBe(1);
  expect(spans.ended().map(({ name, attributes }) => [name, attributes])).toEqual([
    [
      'GET',
      {
        'http.request.method': 'GET',
        'request.id': expect.any(String),
        'http.response.status_code': 404,
        'error.type': 'not_found',
      },
    ],
  ]);
});
