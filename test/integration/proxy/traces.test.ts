import { expect, test } from 'vitest';
import { nextTurn, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { createMemorySpans } from '../../unit/telemetry/memory-spans.ts';
import { reply, sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const LIST = '/v1/networks/fuji/validators?pageSize=3';
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
  const answers = [service.get(LIST), service.get(LIST)];
  await until(() => service.received() === 2);
  sendJson(await held, 200, {});
  await Promise.all(answers);
  await service.get(LIST);
  await until(() => spans.ended(SERVER).length === 3);

  const asked = spans.only('upstream fuji');
  const link = { context: asked.spanContext() };
  expect(spans.ended(SERVER).map(({ links }) => links)).toMatchObject([[link], [link], []]);
  expect(service.standIn.arrivals.map(({ headers }) => headers['traceparent'])).toEqual([
    `00-${asked.spanContext().traceId}-${asked.spanContext().spanId}-01`,
  ]);
});

test('the line about an upstream that fails leads to the trace of the request', async () => {
  const { logger, lines } = createLogLines();
  await using failing = await startUpstreamService({ logger, tracer: createMemorySpans().tracer });
  failing.standIn.behaviour = reply(500);
  await failing.get(LIST, { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, 'x-request-id': 'mine' });
  const line = lines.find((each) => each.includes('upstream failed')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ requestId: 'mine', traceId: 'ab'.repeat(16) });
});

test('probes and scrapes have no spans, and what has no route has no path', async () => {
  await using started = await start();
  const { spans, service } = started;
  await service.get('/health/live');
  await service.get('/nothing/here');
  await until(() => spans.ended().length > 0);
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

/** A span of a request ends when its answer was handed over, which its reader may know before. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn(systemClock);
}
