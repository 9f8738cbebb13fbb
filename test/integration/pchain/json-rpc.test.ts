import { once } from 'node:events';
import { SpanStatusCode } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { describe, expect, it, test } from 'vitest';
import { DeadlineExceeded } from '../../../src/lib/concurrency/deadline.ts';
import { SingleFlight } from '../../../src/lib/concurrency/single-flight.ts';
import type { ApiEndpoint } from '../../../src/lib/net/api-endpoint.ts';
import type { OpenHttp } from '../../../src/lib/net/http-port.ts';
import { readObject } from '../../../src/pchain/codec/json-fields.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import {
  createJsonRpcClient,
  type JsonRpcCall,
  type JsonRpcClient,
  type JsonRpcClientOptions,
} from '../../../src/pchain/rpc/json-rpc.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { within } from '../../../src/telemetry/spans.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { createMemorySpans } from '../../unit/telemetry/memory-spans.ts';
import { LocalApi, type Reply } from './local-api.ts';

const ATTEMPT_TIMEOUT_MS = 4_000;
const CALL_TIMEOUT_MS = 10_000;
const ASIDE_MS = 15_000;

/** Reports pauses between rounds, whose timers are shorter than those of attempts. */
class PauseClock extends FakeClock {
  readonly pausesMs: number[] = [];
  #paused = Promise.withResolvers<void>();

  override after(delayMs: number, callback: () => void): () => void {
    const cancel = super.after(delayMs, callback);
    if (delayMs < ATTEMPT_TIMEOUT_MS) {
      this.pausesMs.push(delayMs);
      this.#paused.resolve();
      this.#paused = Promise.withResolvers();
    }
    return cancel;
  }

  nextPause(): Promise<void> {
    return this.#paused.promise;
  }
}

interface Options extends Partial<Omit<JsonRpcClientOptions, 'endpoints'>> {
  /** Changes the endpoint of each API. */
  readonly endpoint?: Partial<ApiEndpoint>;
  /** Appended to base URLs. */
  readonly path?: string;
}

type Replier = Reply | (() => Reply);

/** Starts an API for each reply, and a client of them. */
async function setUp(replies: readonly Replier[], { endpoint, path = '', ...options }: Options = {}) {
  const opened = new AsyncDisposableStack();
  const apis: LocalApi[] = [];
  for (const reply of replies) {
    apis.push(opened.use(await LocalApi.start(typeof reply === 'function' ? reply : () => reply)));
  }
  const clock = new PauseClock();
  const registry = new Registry();
  const client = createJsonRpcClient({
    endpoints: apis.map(({ baseUrl }) => ({ baseUrl: baseUrl + path, ...endpoint })),
    clock,
    random: () => 0.5,
    metrics: createMetrics(registry),
    ...options,
  });
  opened.use(client);
  const [first, second, third] = apis as [LocalApi, LocalApi, LocalApi];
  return {
    client,
    clock,
    registry,
    first,
    second,
    third,
    ask: (call: Partial<JsonRpcCall<unknown>> = {}) => ask(client, call),
    fail: (call: Partial<JsonRpcCall<unknown>> = {}) => failure(ask(client, call)),
    counts: () => apis.map(({ requests }) => requests.length),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function ask(client: JsonRpcClient, options: Partial<JsonRpcCall<unknown>> = {}): Promise<unknown> {
  return client.call({
    path: '/ext/bc/P',
    method: 'platform.getHeight',
    params: {},
    parseResult: (result) => result,
    maxResponseBytes: 1_000,
    signal: new AbortController().signal,
    ...options,
  });
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    (value) => expect.fail(`gave ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

const answers = (height: string): Reply => ({ result: { height } });
const BOOTSTRAPPING = 'API call rejected because chain is not done bootstrapping';
const DOWN: Reply = { status: 503, text: `${BOOTSTRAPPING}\n` };
const HANGS: Reply = 'hang';

test('other endpoints are used by new calls, and by calls in flight in their next round', async () => {
  await using after = await LocalApi.start(() => answers('22'));
  await using api = await setUp([HANGS]);
  const underWay = api.ask();
  await api.first.received(1);
  const paused = api.clock.nextPause();
  api.client.useEndpoints([{ baseUrl: after.baseUrl }]);
  expect(await api.ask()).toEqual({ height: '22' });
  await paused;
  await api.clock.advance(1_000);
  expect(await underWay).toEqual({ height: '22' });
  expect(api.counts()).toEqual([1]);
  expect(() => api.client.useEndpoints([])).toThrow('at least one endpoint');
});

describe('a call', () => {
  it('is a JSON-RPC 2.0 request over POST', async () => {
    await using api = await setUp([answers('11')]);
    const params = { subnetID: 'x', height: 2n ** 63n + 1n };
    expect(await api.ask({ method: 'platform.getValidatorsAt', params })).toEqual({ height: '11' });
    expect(api.first.requests[0]).toMatchObject({
      url: '/ext/bc/P',
      headers: { 'content-type': 'application/json' },
      text: '{"jsonrpc":"2.0","id":1,"method":"platform.getValidatorsAt","params":{"subnetID":"x","height":9223372036854775809}}',
    });
    expect(api.clock.pendingTimers).toBe(0);
  });

  it('follows no redirect', async () => {
    await using elsewhere = await LocalApi.start(() => answers('11'));
    await using api = await setUp([{ status: 307, text: '', headers: { location: `${elsewhere.baseUrl}/ext/bc/P` } }]);
    await expect(api.ask()).rejects.toThrow('307');
    expect(elsewhere.openConnections).toBe(0);
  });

  it('keeps the prefix and the query of the base URL, and adds its parameters and headers', async () => {
    const httpHeaders = { 'X-Api-Key': 'secret', 'Content-Type': 'text/plain' };
    const endpoint = { queryParameters: { token: 'a b&c' }, httpHeaders };
    await using api = await setUp([answers('11')], { path: '/node/?a=1', endpoint });
    await api.ask();
    expect(api.first.requests[0]).toMatchObject({
      url: '/node/ext/bc/P?a=1&token=a+b%26c',
      headers: { 'x-api-key': 'secret', 'content-type': 'application/json' },
    });
  });

  it('fails where too many are in flight', async () => {
    await using api = await setUp([HANGS], { limits: { maxCallsInFlight: 1 } });
    const abort = new AbortController();
    const first = api.ask({ signal: abort.signal });
    expect((await api.fail()).code).toBe('unavailable');
    abort.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    api.first.reply = () => answers('12');
    expect(await api.ask()).toEqual({ height: '12' });
  });
});

describe('failover', () => {
  it('uses the second URL while the first is down, and returns when it has recovered', async () => {
    await using api = await setUp(['cut the connection', answers('2')]);
    expect(await api.ask()).toEqual({ height: '2' });
    api.first.reply = () => answers('1');
    // The first one is put aside.
    expect(await api.ask()).toEqual({ height: '2' });
    expect(api.counts()).toEqual([1, 2]);
    await api.clock.advance(ASIDE_MS);
    // After the answer it is the first again, for all calls.
    for (let calls = 0; calls < 2; calls += 1) expect(await api.ask()).toEqual({ height: '1' });
    expect(api.counts()).toEqual([3, 2]);
  });

  it('a URL that hangs is tried by one call after its time, while others use the next one', async () => {
    await using api = await setUp(['cut the connection', answers('2')]);
    await api.ask();
    api.first.reply = () => HANGS;
    await api.clock.advance(ASIDE_MS);
    const probe = api.ask();
    await api.first.received(2);
    expect(await api.ask()).toEqual({ height: '2' });
    await api.clock.advance(ATTEMPT_TIMEOUT_MS);
    expect([await probe, await api.ask()]).toEqual([{ height: '2' }, { height: '2' }]);
    expect(api.first.requests).toHaveLength(2);
  });

  it('uses the second URL where the first refuses connections', async () => {
    await using api = await setUp([HANGS, answers('2')], { limits: { maxRounds: 1 } });
    await api.first[Symbol.asyncDispose]();
    expect(await api.ask()).toEqual({ height: '2' });
    await api.second[Symbol.asyncDispose]();
    const error = await api.fail();
    expect(error.message).toBe('platform.getHeight: the connection failed (ECONNREFUSED)');
    expect(error.detail).toMatch(
      /: 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+; 127\.0\.0\.1:\d+: connect /,
    );
  });

  it.each<[string, Reply]>([
    ['HTTP 503', DOWN],
    ['HTTP 401', { status: 401, text: '{"error":"no key"}' }],
    ['a page under 200', { status: 200, text: '<html>' }],
    ['an empty body', { status: 200, text: '' }],
    ['a result that does not fit', { result: { height: 'tall' } }],
    ['no result', { status: 200, text: '{"jsonrpc":"2.0","id":1}' }],
    ['no version', { status: 200, text: '{"id":1,"result":{"height":"2"}}' }],
    ['an answer to another request', { status: 200, text: '{"jsonrpc":"2.0","id":7,"result":{"height":"2"}}' }],
    ['an error without code', { error: { message: 'no' } }],
    ['an error without text', { error: { code: 1, message: null } }],
    ['an error that is a string', { error: 'no' }],
    ['a long body', { result: { height: '2', padding: 'x'.repeat(1_000) } }],
    ['an endless body', 'endless'],
    ['a cut connection', 'cut the connection'],
  ])('uses the next URL after %s', async (_what, reply) => {
    await using api = await setUp([reply, answers('2')]);
    const parseResult = (result: unknown): string => {
      const { height } = readObject(result, 'result');
      if (height !== '2') readObject(height, 'height');
      return String(height);
    };
    expect(await api.ask({ parseResult })).toBe('2');
    expect([api.counts(), api.clock.pausesMs]).toEqual([[1, 1], []]);
  });

  it('uses the next URL after a hanging one, each with a deadline', async () => {
    await using api = await setUp([HANGS, 'hang after the headers', answers('3')]);
    const result = api.ask();
    for (const hanging of [api.first, api.second]) {
      await hanging.received(1);
      await api.clock.advance(ATTEMPT_TIMEOUT_MS);
    }
    // The third is preferred from now on.
    expect([await result, await api.ask()]).toEqual([{ height: '3' }, { height: '3' }]);
    expect(api.clock.pendingTimers).toBe(0);
  });

  it('does not use a second URL after a JSON-RPC error, also without a request ID', async () => {
    const rejection = { code: -32000, message: 'not found' };
    const withoutID = JSON.stringify({ jsonrpc: '2.0', error: rejection, id: null });
    await using api = await setUp([{ error: { ...rejection, data: null } }, answers('2')]);
    for (let call = 1; call <= 2; call += 1) {
      expect(await api.fail()).toMatchObject({ code: 'rejected', rejection });
      expect(api.counts()).toEqual([call, 0]);
      api.first.reply = () => ({ status: 200, text: withoutID });
    }
  });

  it('redacts our key in a rejection, and truncates its text', async () => {
    const key = '0a1b2c3d4e5f6a7b8c9d';
    const message = `${'x'.repeat(990)} ${key} ${'y'.repeat(100_000)}`;
    await using api = await setUp([{ error: { code: 1, message } }], { path: `/v3/${key}` });
    const error = await api.fail({ maxResponseBytes: 1_000_000 });
    expect(error.rejection?.message).toBe(message.replace(key, '…').slice(0, 1_000));
    expect(`${error.message} ${error.detail}`).not.toContain(key.slice(0, 8));
    expect(api.first.requests[0]?.url).toBe(`/v3/${key}/ext/bc/P`);
  });
});

describe('retries', () => {
  it('retries after pauses, and fails after three rounds', async () => {
    await using api = await setUp([DOWN]);
    const error = api.fail();
    for (const [round, pauseMs] of [75, 150].entries()) {
      await api.first.received(round + 1);
      while (api.clock.pausesMs.length <= round) await api.clock.nextPause();
      await api.clock.advance(pauseMs);
    }
    expect(await error).toMatchObject({
      code: 'unavailable',
      message: `platform.getHeight: HTTP status 503: ${BOOTSTRAPPING}`,
      detail: `platform.getHeight: ${api.first.host}: HTTP status 503: ${BOOTSTRAPPING}`,
    });
    expect([api.counts(), api.clock.pausesMs, api.clock.pendingTimers]).toEqual([[3], [75, 150], 0]);
  });

  it.each([500, 503, 429, 408])('retries after HTTP %i', async (status) => {
    await using api = await setUp([{ status, text: '' }]);
    const result = api.ask();
    await api.clock.nextPause();
    api.first.reply = () => answers('11');
    await api.clock.advance(100);
    expect(await result).toEqual({ height: '11' });
  });

  it.each([
    [301, 'invalid_response'],
    [400, 'invalid_response'],
    [403, 'invalid_response'],
    [404, 'method_refused'],
    [405, 'method_refused'],
    [501, 'method_refused'],
  ])('does not retry after HTTP %i', async (status, code) => {
    await using api = await setUp([{ status, text: '' }]);
    expect((await api.fail()).code).toBe(code);
    expect([api.counts(), api.clock.pausesMs]).toEqual([[1], []]);
  });

  it('takes an unknown error under an HTTP error for no answer: a gateway may have made it', async () => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'not today' } });
    await using api = await setUp([{ status: 400, text }]);
    expect(await api.fail()).toMatchObject({
      code: 'invalid_response',
      message: 'platform.getHeight: HTTP status 400: not today',
    });
  });

  it('retries only temporary failures', async () => {
    await using api = await setUp([{ status: 200, text: 'hello' }, DOWN]);
    const result = api.ask();
    await api.clock.nextPause();
    api.second.reply = () => answers('2');
    await api.clock.advance(100);
    expect(await result).toEqual({ height: '2' });
    expect(api.counts()).toEqual([1, 2]);
  });
});

describe('deadlines and aborts', () => {
  it('fails at the deadline of the call, with the last failures', async () => {
    await using api = await setUp([HANGS]);
    const error = api.fail();
    for (const [round, pauseMs] of [75, 150].entries()) {
      await api.first.received(round + 1);
      const paused = api.clock.nextPause();
      await api.clock.advance(ATTEMPT_TIMEOUT_MS);
      await paused;
      await api.clock.advance(pauseMs);
    }
    await api.first.received(3);
    await api.clock.advance(CALL_TIMEOUT_MS - 2 * ATTEMPT_TIMEOUT_MS - 75 - 150);
    expect(await error).toMatchObject({
      code: 'unavailable',
      message: 'platform.getHeight took longer than 10000 ms (no response within 4000 ms)',
      detail: `platform.getHeight took longer than 10000 ms (${api.first.host}: no response within 4000 ms)`,
    });
    expect(api.clock.pendingTimers).toBe(0);
  });

  it('rejects with the reason of the signal in a request, a pause and before', async () => {
    await using api = await setUp([HANGS]);
    const reason = new Error('the client has left');
    const [leaving, leavingLater] = [new AbortController(), new AbortController()];
    const inRequest = api.ask({ signal: leaving.signal });
    await api.first.received(1);
    leaving.abort(reason);
    await expect(inRequest).rejects.toBe(reason);

    // The endpoint was not put aside.
    api.first.reply = () => DOWN;
    const inPause = api.ask({ signal: leavingLater.signal });
    await api.clock.nextPause();
    leavingLater.abort(reason);
    await expect(inPause).rejects.toBe(reason);
    expect(api.clock.pendingTimers).toBe(0);

    await expect(api.ask({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(api.counts()).toEqual([2]);
  });

  it('ends its calls at disposal', async () => {
    await using waiting = await setUp([HANGS], { limits: { maxConnections: 1 } });
    const inRequest = waiting.fail();
    await waiting.first.received(1);
    const inLine = waiting.fail();
    await using pausing = await setUp([DOWN]);
    const inPause = pausing.fail();
    await pausing.clock.nextPause();
    for (const { client, clock } of [waiting, pausing]) {
      await client[Symbol.asyncDispose]();
      expect(clock.pendingTimers).toBe(0);
    }
    for (const error of [await inRequest, await inLine, await inPause, await pausing.fail()]) {
      expect(error).toMatchObject({ code: 'unavailable', message: 'the service stops and sends no more API calls' });
    }
    expect([waiting.counts(), pausing.counts()]).toEqual([[1], [1]]);
  });

  it('disposal waits for the end of calls', async () => {
    const ended: string[] = [];
    const request = async ({ signal }: { readonly signal: AbortSignal }) => {
      await once(signal, 'abort');
      await settle();
      ended.push('a call');
      throw signal.reason;
    };
    const openHttp = (() => ({ request, destroy: async () => undefined })) as unknown as OpenHttp;
    await using api = await setUp([HANGS], { openHttp });
    const error = api.fail();
    await api.client[Symbol.asyncDispose]();
    expect(ended).toEqual(['a call']);
    expect((await error).code).toBe('unavailable');
  });
});

describe('errors, traces and metrics', () => {
  it.each<[string, Reply]>([
    ['HTTP 503', DOWN],
    ['a cut connection', 'cut the connection'],
    ['a JSON-RPC error', { error: { code: -32000, message: 'not found' } }],
    ['no JSON', { status: 200, text: 'hello' }],
  ])('the message has no host, the detail names it, and neither has a key: %s', async (_what, reply) => {
    const endpoint = { queryParameters: { token: 'query-key' }, httpHeaders: { 'x-key': 'header-key' } };
    await using api = await setUp([reply], { path: '/path-key', endpoint, limits: { maxRounds: 1 } });
    const { message, detail } = await api.fail();
    expect(message).not.toMatch(/127\.0\.0\.1|localhost/);
    expect(detail).toContain(api.first.host);
    expect(`${message} ${detail}`).not.toMatch(/-key/);
  });

  it('a call is a span of its caller and sends the trace context', async () => {
    const { tracer, only } = createMemorySpans();
    await using api = await setUp([answers('11')], { endpoint: { httpHeaders: { 'x-key': 'k' } } });
    const work = tracer.root('work', 'internal', {});
    await within(work, () => api.ask());
    api.first.reply = () => ({ error: { code: -32000, message: 'no' } });
    await within(work, () => api.fail({ method: 'platform.getBlock' }));
    await api.fail();
    work.end();

    const call = only('platform.getHeight');
    expect(call.parentSpanContext).toEqual(only('work').spanContext());
    expect(only('platform.getBlock').status.code).toBe(SpanStatusCode.ERROR);
    expect(api.first.requests.map(({ headers }) => [headers['x-key'], headers['traceparent']])).toEqual([
      ['k', `00-${call.spanContext().traceId}-${call.spanContext().spanId}-01`],
      ['k', expect.any(String)],
      ['k', undefined],
    ]);
  });

  it('calls and failed attempts are counted', async () => {
    await using api = await setUp([DOWN, answers('2')]);
    await api.ask();
    api.second.reply = () => ({ error: { code: -32000, message: 'not found' } });
    await api.fail();
    const text = await api.registry.metrics();
    for (const line of [
      'api_calls_total{method="platform.getHeight",outcome="ok"} 1',
      'api_calls_total{method="platform.getHeight",outcome="rejected"} 1',
      `api_attempt_failures_total{endpoint="${api.first.host}",reason="http_status"} 1`,
      'api_call_duration_seconds_count{method="platform.getHeight"} 2',
    ]) {
      expect(text).toContain(line);
    }
  });

  it('a call that a deadline ended counts as unavailable, one that its caller ended as aborted', async () => {
    await using api = await setUp([HANGS]);
    for (const reason of [new DeadlineExceeded('too late'), new Error('the client has left')]) {
      const ending = new AbortController();
      const call = api.ask({ signal: ending.signal });
      await api.first.received(api.first.requests.length + 1);
      ending.abort(reason);
      await expect(call).rejects.toBe(reason);
    }
    const text = await api.registry.metrics();
    for (const outcome of ['unavailable', 'aborted']) {
      expect(text).toContain(`api_calls_total{method="platform.getHeight",outcome="${outcome}"} 1`);
    }
  });

  it('a deadline counts also if it ended a call that several callers share', async () => {
    await using api = await setUp([HANGS]);
    const flights = new SingleFlight<string, unknown>();
    const deadline = new AbortController();
    const shared = flights.run('height', (signal) => api.ask({ signal }), deadline.signal);
    await api.first.received(1);
    deadline.abort(new DeadlineExceeded('too late'));
    await expect(shared).rejects.toThrow('too late');
    await settle();
    expect(await api.registry.metrics()).toContain('outcome="unavailable"} 1');
  });
});
