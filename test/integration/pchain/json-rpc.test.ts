import { once } from 'node:events';
import { SpanStatusCode } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { OpenHttp } from '../../../src/lib/net/http-port.ts';
import { readObject } from '../../../src/pchain/codec/json-fields.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { type JsonRpcCall, JsonRpcClient, type JsonRpcClientOptions } from '../../../src/pchain/rpc/json-rpc.ts';
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

function setUp(apis: readonly LocalApi[], options: Partial<JsonRpcClientOptions> = {}) {
  const clock = new PauseClock();
  const registry = new Registry();
  const client = new JsonRpcClient({
    endpoints: apis.map(({ baseUrl }) => ({ baseUrl })),
    clock,
    random: () => 0.5,
    metrics: createMetrics(registry),
    ...options,
  });
  return { client, clock, registry, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
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

const answers = (height: string) => () => ({ result: { height } });
const down = () => ({ status: 503, text: 'API call rejected because chain is not done bootstrapping' });

describe('other endpoints', () => {
  it('are used by new calls, and by calls in flight in their next round', async () => {
    await using before = await LocalApi.start(() => 'hang');
    await using after = await LocalApi.start(answers('22'));
    await using setup = setUp([before]);
    const underWay = ask(setup.client);
    await before.received(1);
    const paused = setup.clock.nextPause();
    setup.client.useEndpoints([{ baseUrl: after.baseUrl }]);
    expect(await ask(setup.client)).toEqual({ height: '22' });
    await paused;
    await setup.clock.advance(1_000);
    expect(await underWay).toEqual({ height: '22' });
    expect(before.requests).toHaveLength(1);
    expect(() => setup.client.useEndpoints([])).toThrow('at least one endpoint');
  });
});

describe('a call', () => {
  it('is a JSON-RPC 2.0 request over POST', async () => {
    await using api = await LocalApi.start(answers('11'));
    await using setup = setUp([api]);
    const params = { subnetID: 'x', height: 2n ** 63n + 1n };
    expect(await ask(setup.client, { method: 'platform.getValidatorsAt', params })).toEqual({ height: '11' });
    const [request] = api.requests;
    expect(request?.url).toBe('/ext/bc/P');
    expect(request?.headers['content-type']).toBe('application/json');
    expect(request?.text).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"platform.getValidatorsAt","params":{"subnetID":"x","height":9223372036854775809}}',
    );
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it('follows no redirect', async () => {
    await using elsewhere = await LocalApi.start(answers('11'));
    const headers = { location: `${elsewhere.baseUrl}/ext/bc/P` };
    await using api = await LocalApi.start(() => ({ status: 307, text: '', headers }));
    await using setup = setUp([api]);
    await expect(ask(setup.client)).rejects.toThrow('307');
    expect(elsewhere.openConnections).toBe(0);
  });

  it('keeps the prefix and the query of the base URL, and adds its parameters and headers', async () => {
    await using api = await LocalApi.start(answers('11'));
    await using setup = setUp([], {
      endpoints: [
        {
          baseUrl: `${api.baseUrl}/node/?a=1`,
          queryParameters: { token: 'a b&c' },
          httpHeaders: { 'X-Api-Key': 'secret', 'Content-Type': 'text/plain' },
        },
      ],
    });
    await ask(setup.client);
    expect(api.requests[0]?.url).toBe('/node/ext/bc/P?a=1&token=a+b%26c');
    expect(api.requests[0]?.headers).toMatchObject({ 'x-api-key': 'secret', 'content-type': 'application/json' });
  });

  it('fails where too many are in flight', async () => {
    await using api = await LocalApi.start(() => 'hang');
    await using setup = setUp([api], { limits: { maxCallsInFlight: 1 } });
    const abort = new AbortController();
    const first = ask(setup.client, { signal: abort.signal });
    expect((await failure(ask(setup.client))).kind).toBe('unavailable');
    abort.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    api.reply = answers('12');
    expect(await ask(setup.client)).toEqual({ height: '12' });
  });
});

describe('failover', () => {
  it('uses the second URL while the first is down, and returns when it has recovered', async () => {
    await using first = await LocalApi.start(() => 'cut the connection');
    await using second = await LocalApi.start(answers('2'));
    await using setup = setUp([first, second]);
    expect(await ask(setup.client)).toEqual({ height: '2' });
    first.reply = answers('1');
    // The first one is put aside.
    expect(await ask(setup.client)).toEqual({ height: '2' });
    expect(first.requests).toHaveLength(1);
    await setup.clock.advance(ASIDE_MS);
    // After the answer it is the first again, for all calls.
    for (let calls = 0; calls < 2; calls += 1) expect(await ask(setup.client)).toEqual({ height: '1' });
    expect(second.requests).toHaveLength(2);
  });

  it('a URL that hangs is tried by one call after its time, while others use the next one', async () => {
    await using first = await LocalApi.start(() => 'cut the connection');
    await using second = await LocalApi.start(answers('2'));
    await using setup = setUp([first, second]);
    await ask(setup.client);
    first.reply = () => 'hang';
    await setup.clock.advance(ASIDE_MS);
    const probe = ask(setup.client);
    await first.received(2);
    expect(await ask(setup.client)).toEqual({ height: '2' });
    await setup.clock.advance(ATTEMPT_TIMEOUT_MS);
    expect(await probe).toEqual({ height: '2' });
    expect(await ask(setup.client)).toEqual({ height: '2' });
    expect(first.requests).toHaveLength(2);
  });

  it('uses the second URL where the first refuses connections', async () => {
    await using second = await LocalApi.start(answers('2'));
    // Port 1 (tcpmux) is unused.
    const endpoints = [{ baseUrl: 'http://127.0.0.1:1' }, { baseUrl: second.baseUrl }];
    await using setup = setUp([], { endpoints, limits: { maxRounds: 1 } });
    expect(await ask(setup.client)).toEqual({ height: '2' });
    await second[Symbol.asyncDispose]();
    const error = await failure(ask(setup.client));
    expect(error.message).toBe('platform.getHeight: the connection failed (ECONNREFUSED)');
    expect(error.detail).toMatch(/: 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+; 127\.0\.0\.1:1: connect /);
  });

  it.each([
    ['HTTP 503', down()],
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
    ['an endless body', 'endless' as const],
    ['a cut connection', 'cut the connection' as const],
  ])('uses the next URL after %s', async (_what, reply) => {
    await using first = await LocalApi.start(() => reply);
    await using second = await LocalApi.start(answers('2'));
    await using setup = setUp([first, second]);
    const parseResult = (result: unknown): string => {
      const { height } = readObject(result, 'result');
      if (height !== '2') readObject(height, 'height');
      return String(height);
    };
    expect(await ask(setup.client, { parseResult })).toBe('2');
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
    expect(setup.clock.pausesMs).toEqual([]);
  });

  it('uses the next URL after a hanging one, each with a deadline', async () => {
    await using first = await LocalApi.start(() => 'hang');
    await using second = await LocalApi.start(() => 'hang after the headers');
    await using third = await LocalApi.start(answers('3'));
    await using setup = setUp([first, second, third]);
    const result = ask(setup.client);
    await first.received(1);
    await setup.clock.advance(ATTEMPT_TIMEOUT_MS);
    await second.received(1);
    await setup.clock.advance(ATTEMPT_TIMEOUT_MS);
    expect(await result).toEqual({ height: '3' });
    // The third is preferred from now on.
    expect(await ask(setup.client)).toEqual({ height: '3' });
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it('does not use a second URL after a JSON-RPC error', async () => {
    const rejection = { code: -32000, message: 'not found', data: null };
    await using first = await LocalApi.start(() => ({ error: rejection }));
    await using second = await LocalApi.start(answers('2'));
    await using setup = setUp([first, second]);
    for (let call = 1; call <= 2; call += 1) {
      const error = await failure(ask(setup.client));
      expect(error.kind).toBe('rejected');
      expect(error.rejection).toEqual({ code: -32000, message: 'not found' });
      expect(first.requests).toHaveLength(call);
    }
    expect(second.requests).toHaveLength(0);
  });

  it('accepts an error without a request ID', async () => {
    const text = '{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"},"id":null}';
    await using api = await LocalApi.start(() => ({ status: 200, text }));
    await using setup = setUp([api]);
    expect((await failure(ask(setup.client))).rejection).toEqual({ code: -32700, message: 'parse error' });
  });

  it('redacts our key in a rejection, and truncates its text', async () => {
    const key = '0a1b2c3d4e5f6a7b8c9d';
    const message = `${'x'.repeat(990)} ${key} ${'y'.repeat(100_000)}`;
    await using api = await LocalApi.start(() => ({ error: { code: 1, message } }));
    await using setup = setUp([], { endpoints: [{ baseUrl: `${api.baseUrl}/v3/${key}` }] });
    const error = await failure(ask(setup.client, { maxResponseBytes: 1_000_000 }));
    expect(error.rejection?.message).toBe(message.replace(key, '…').slice(0, 1_000));
    expect(`${error.message} ${error.detail}`).not.toContain(key.slice(0, 8));
    expect(api.requests[0]?.url).toBe(`/v3/${key}/ext/bc/P`);
  });
});

describe('retries', () => {
  it('retries after pauses, and fails after three rounds', async () => {
    await using api = await LocalApi.start(down);
    await using setup = setUp([api]);
    const error = failure(ask(setup.client));
    await setup.clock.nextPause();
    expect(api.requests).toHaveLength(1);
    const secondPause = setup.clock.nextPause();
    await setup.clock.advance(75);
    await secondPause;
    expect(api.requests).toHaveLength(2);
    await setup.clock.advance(150);
    expect((await error).kind).toBe('unavailable');
    expect(api.requests).toHaveLength(3);
    expect(setup.clock.pausesMs).toEqual([75, 150]);
    expect(await error).toMatchObject({
      message: 'platform.getHeight: HTTP status 503',
      detail: `platform.getHeight: ${api.host}: HTTP status 503`,
    });
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it.each([500, 503, 429, 408])('retries after HTTP %i', async (status) => {
    await using api = await LocalApi.start(() => ({ status, text: '' }));
    await using setup = setUp([api]);
    const result = ask(setup.client);
    await setup.clock.nextPause();
    api.reply = answers('11');
    await setup.clock.advance(100);
    expect(await result).toEqual({ height: '11' });
  });

  it.each([301, 400, 404])('does not retry after HTTP %i', async (status) => {
    await using api = await LocalApi.start(() => ({ status, text: '' }));
    await using setup = setUp([api]);
    expect((await failure(ask(setup.client))).kind).toBe('invalid response');
    expect([api.requests.length, setup.clock.pausesMs]).toEqual([1, []]);
  });

  it('retries only temporary failures', async () => {
    await using first = await LocalApi.start(() => ({ status: 200, text: 'hello' }));
    await using second = await LocalApi.start(down);
    await using setup = setUp([first, second]);
    const result = ask(setup.client);
    await setup.clock.nextPause();
    second.reply = answers('2');
    await setup.clock.advance(100);
    expect(await result).toEqual({ height: '2' });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
  });
});

describe('deadlines and aborts', () => {
  it('fails at the deadline of the call, with the last failures', async () => {
    await using api = await LocalApi.start(() => 'hang');
    await using setup = setUp([api]);
    const error = failure(ask(setup.client));
    for (const [round, pauseMs] of [75, 150].entries()) {
      await api.received(round + 1);
      const paused = setup.clock.nextPause();
      await setup.clock.advance(ATTEMPT_TIMEOUT_MS);
      await paused;
      await setup.clock.advance(pauseMs);
    }
    await api.received(3);
    await setup.clock.advance(CALL_TIMEOUT_MS - 2 * ATTEMPT_TIMEOUT_MS - 75 - 150);
    expect(await error).toMatchObject({
      kind: 'unavailable',
      message: 'platform.getHeight took longer than 10000 ms (no answer within 4000 ms)',
      detail: `platform.getHeight took longer than 10000 ms (${api.host}: no answer within 4000 ms)`,
    });
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it('rejects with the reason of the signal in a request, a pause and before', async () => {
    await using api = await LocalApi.start(() => 'hang');
    await using setup = setUp([api]);
    const reason = new Error('the client has left');
    const ongoing = [new AbortController(), new AbortController()] as const;
    const inRequest = ask(setup.client, { signal: ongoing[0].signal });
    await api.received(1);
    ongoing[0].abort(reason);
    await expect(inRequest).rejects.toBe(reason);

    api.reply = down;
    const inPause = ask(setup.client, { signal: ongoing[1].signal });
    await setup.clock.nextPause();
    ongoing[1].abort(reason);
    await expect(inPause).rejects.toBe(reason);
    expect(setup.clock.pendingTimers).toBe(0);

    await expect(ask(setup.client, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(api.requests).toHaveLength(2);
  });

  it('does not put an endpoint aside after an abort', async () => {
    await using first = await LocalApi.start(() => 'hang');
    await using second = await LocalApi.start(answers('2'));
    await using setup = setUp([first, second]);
    const abort = new AbortController();
    const aborted = ask(setup.client, { signal: abort.signal });
    await first.received(1);
    abort.abort(new Error('left'));
    await expect(aborted).rejects.toThrow('left');
    first.reply = answers('1');
    expect(await ask(setup.client)).toEqual({ height: '1' });
  });

  it('ends its calls at disposal', async () => {
    await using hanging = await LocalApi.start(() => 'hang');
    await using dead = await LocalApi.start(down);
    const waiting = setUp([hanging], { limits: { maxConnections: 1 } });
    const inRequest = failure(ask(waiting.client));
    await hanging.received(1);
    const inLine = failure(ask(waiting.client));
    const pausing = setUp([dead]);
    const inPause = failure(ask(pausing.client));
    await pausing.clock.nextPause();
    for (const { client, clock } of [waiting, pausing]) {
      await client[Symbol.asyncDispose]();
      expect(clock.pendingTimers).toBe(0);
    }
    for (const error of [await inRequest, await inLine, await inPause, await failure(ask(pausing.client))]) {
      expect(error).toMatchObject({ kind: 'unavailable', message: 'the service stops and sends no more API calls' });
    }
    expect([hanging.requests.length, dead.requests.length]).toEqual([1, 1]);
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
    const { client } = setUp([], { endpoints: [{ baseUrl: 'http://x' }], openHttp });
    const error = failure(ask(client));
    await client[Symbol.asyncDispose]();
    expect(ended).toEqual(['a call']);
    expect((await error).kind).toBe('unavailable');
  });
});

describe('errors, traces and metrics', () => {
  it.each<[string, () => Reply]>([
    ['HTTP 503', down],
    ['a cut connection', () => 'cut the connection'],
    ['a JSON-RPC error', () => ({ error: { code: -32000, message: 'not found' } })],
    ['no JSON', () => ({ status: 200, text: 'hello' })],
  ])('the message has no host, the detail names it, and neither has a key: %s', async (_what, reply) => {
    await using api = await LocalApi.start(reply);
    const keys = { queryParameters: { token: 'query-key' }, httpHeaders: { 'x-key': 'header-key' } };
    const endpoints = [{ baseUrl: `${api.baseUrl}/path-key`, ...keys }];
    await using setup = setUp([], { endpoints, limits: { maxRounds: 1 } });
    const { message, detail } = await failure(ask(setup.client));
    expect(message).not.toMatch(/127\.0\.0\.1|localhost/);
    expect(detail).toContain(api.host);
    expect(`${message} ${detail}`).not.toMatch(/-key/);
  });

  it('a call is a span of its caller and sends the trace context', async () => {
    const { tracer, only } = createMemorySpans();
    await using api = await LocalApi.start(answers('11'));
    await using setup = setUp([api], { endpoints: [{ baseUrl: api.baseUrl, httpHeaders: { 'x-key': 'k' } }] });
    const work = tracer.root('work', 'internal', {});
    await within(work, () => ask(setup.client));
    api.reply = () => ({ error: { code: -32000, message: 'no' } });
    await failure(within(work, () => ask(setup.client, { method: 'platform.getBlock' })));
    await ask(setup.client).catch(() => undefined);
    work.end();

    const call = only('platform.getHeight');
    expect(call.parentSpanContext).toEqual(only('work').spanContext());
    expect(only('platform.getBlock').status.code).toBe(SpanStatusCode.ERROR);
    expect(api.requests.map(({ headers }) => [headers['x-key'], headers['traceparent']])).toEqual([
      ['k', `00-${call.spanContext().traceId}-${call.spanContext().spanId}-01`],
      ['k', expect.any(String)],
      ['k', undefined],
    ]);
  });

  it('calls and failed attempts of all clients of a registry are counted', async () => {
    await using first = await LocalApi.start(down);
    await using second = await LocalApi.start(answers('2'));
    const registry = new Registry();
    const metrics = createMetrics(registry);
    await using one = setUp([first, second], { metrics });
    await using other = setUp([second], { metrics });
    await ask(one.client);
    second.reply = () => ({ error: { code: -32000, message: 'no' } });
    await failure(ask(other.client));
    const text = await registry.metrics();
    expect(text).toContain('signature_aggregator_api_calls_total{method="platform.getHeight",outcome="ok"} 1');
    expect(text).toContain('signature_aggregator_api_calls_total{method="platform.getHeight",outcome="rejected"} 1');
    expect(text).toContain(
      `signature_aggregator_api_attempt_failures_total{endpoint="${first.host}",reason="http status"} 1`,
    );
    expect(text).toContain('signature_aggregator_api_call_duration_seconds_count{method="platform.getHeight"} 2');
  });
});
