import { afterEach, beforeEach, expect, test } from 'vitest';
import { nextTurn, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { createMemorySpans } from '../../unit/telemetry/memory-spans.ts';
import { sendJson } from './stand-in.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

const LIST = '/v1/networks/fuji/validators?pageSize=3';
const SERVER = 'GET /v1/networks/:network/validators';
const CACHE_BYTES = 1_000_000;

let spans: ReturnType<typeof createMemorySpans>;
let service: UpstreamService;
beforeEach(async () => {
  spans = createMemorySpans();
  service = await startUpstreamService({ settings: { cacheBytes: CACHE_BYTES }, tracer: spans.tracer });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

test('requests that share a question to an upstream link to it, and one that the cache answers does not', async () => {
  const held = Promise.withResolvers<void>();
  service.standIn.behaviour = (_request, response) => void held.promise.then(() => sendJson(response, 200, {}));
  const answers = [service.get(LIST), service.get(LIST)];
  await until(() => service.received() === 2);
  held.resolve();
  await Promise.all(answers);
  await service.get(LIST);
  await until(() => spans.ended(SERVER).length === 3);

  const asked = spans.only('upstream fuji');
  const servers = spans.ended(SERVER);
  const link = { context: asked.spanContext() };
  expect(servers.map(({ links }) => links)).toMatchObject([[link], [link], []]);
  expect(service.standIn.arrivals.map(({ headers }) => headers['traceparent'])).toEqual([
    `00-${asked.spanContext().traceId}-${asked.spanContext().spanId}-01`,
  ]);
});

test('the line about an upstream that fails leads to the trace of the request', async () => {
  const { logger, lines } = createLogLines();
  await using failing = await startUpstreamService({ logger, tracer: spans.tracer });
  failing.standIn.behaviour = (_request, response) => sendJson(response, 500, {});
  await failing.get(LIST, { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, 'x-request-id': 'mine' });
  const line = lines.find((each) => each.includes('upstream failed')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ requestId: 'mine', traceId: 'ab'.repeat(16) });
});

test('probes and scrapes have no spans, and what has no route has no path', async () => {
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
