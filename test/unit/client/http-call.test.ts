import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Caller, type CallerOptions } from '../../../src/client/http-call.ts';

const OVERLOADED = { message: 'later', statusCode: 503, error: 'Service Unavailable', code: 'overloaded' };
const SOON = { 'retry-after': '0', 'x-request-id': 'an-id' };

const json = (status: number, body: object, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });
const stream = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } });

/** A caller of a service that gives these answers one after the other, the last one again. */
function callerOf(answers: readonly (() => Response | Promise<Response>)[], options: Partial<CallerOptions> = {}) {
  const requests: Request[] = [];
  const send: typeof fetch = async (url, init) => {
    requests.push(new Request(url as string, init));
    const answer = answers[Math.min(requests.length, answers.length) - 1];
    if (answer === undefined) throw new Error('there is no answer');
    return answer();
  };
  return { requests, caller: new Caller({ baseUrl: 'http://service/behind/', fetch: send, ...options }) };
}

const overloaded = () => json(503, OVERLOADED, SOON);
const done = () => json(200, { isDone: true });

test('a call that may succeed later is repeated, with the key and the body', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const broken = () => Promise.reject(new TypeError('fetch failed'));
  const { caller, requests } = callerOf([overloaded, broken, () => new Response('<html>', { status: 502 }), done], {
    apiKey: 'secret',
  });
  expect(await caller.json({ path: '/verify', body: { a: 1 } })).toEqual({ isDone: true });
  expect(requests).toHaveLength(4);
  for (const request of requests) {
    expect([request.url, request.method]).toEqual(['http://service/behind/verify', 'POST']);
    expect(request.headers.get('x-service-api-key')).toBe('secret');
    expect(await request.json()).toEqual({ a: 1 });
  }
});

test('a call is repeated three times, or as often as the options say', async () => {
  for (const [options, calls] of [
    [{}, 4],
    [{ maxRetries: 0 }, 1],
  ] as const) {
    const { caller, requests } = callerOf([overloaded], options);
    const failure = { code: 'overloaded', message: 'later', status: 503, retryAfterMs: 0, requestId: 'an-id' };
    await expect(caller.json({ path: '/' })).rejects.toMatchObject(failure);
    expect(requests).toHaveLength(calls);
  }
});

test('the key does not follow a redirect to another host', async () => {
  const keys: unknown[] = [];
  const other = createServer(({ headers }, response) => {
    keys.push(headers['x-service-api-key']);
    response.end('{}');
  });
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const location = `http://localhost:${(other.address() as AddressInfo).port}/verify`;
  const service = createServer((_, response) => response.writeHead(307, { location }).end());
  await once(service.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void [other.close(), service.close()]);
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const caller = new Caller({ baseUrl, apiKey: 'secret', maxRetries: 0 });
  const refused = { code: 'unreachable', message: expect.stringContaining('redirect') };
  await expect(caller.json({ path: '/verify', body: {} })).rejects.toMatchObject(refused);
  expect(keys).toEqual([]);
});

test('a call that stays wrong is sent once', async () => {
  const { caller, requests } = callerOf([() => json(400, { ...OVERLOADED, statusCode: 400, code: 'wrong_network' })]);
  await expect(caller.json({ path: '/' })).rejects.toMatchObject({ code: 'wrong_network', status: 400 });
  expect(requests).toHaveLength(1);
});

test('an answer is bounded in bytes', async () => {
  const text = `"${'x'.repeat(16 * 1024 * 1024)}"`;
  const { caller } = callerOf([() => new Response(text)], { maxRetries: 0 });
  const tooLong = { code: 'invalid_answer', status: 200, message: 'the answer is longer than 16777216 bytes' };
  await expect(caller.json({ path: '/' })).rejects.toMatchObject(tooLong);
  const { caller: other } = callerOf([() => new Response(text.replace('xx', ''))], { maxRetries: 0 });
  expect(await other.json({ path: '/' })).toHaveLength(16 * 1024 * 1024 - 2);
});

test('the body of an error status that a call allows is its answer', async () => {
  const { caller } = callerOf([() => json(503, { networks: [] })], { maxRetries: 0 });
  expect(await caller.json({ path: '/health/ready', allowed: 503 })).toEqual({ networks: [] });
  await expect(caller.json({ path: '/health/ready' })).rejects.toMatchObject({ code: 'invalid_answer', status: 503 });
});

test('a stream ends with its result or its error, and is repeated if it breaks off', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const events: string[] = [];
  const call = { path: '/', body: {} };
  const begun = 'event: resolved\ndata: {"x":1}\n\n: alive\n\n';
  const result = callerOf([() => stream(begun), () => stream(`${begun}event: result\ndata: {"y":2}\n\n`)]);
  expect(await result.caller.result(call, ({ event }) => events.push(event))).toEqual({ y: 2 });
  expect(events).toEqual(['resolved', 'resolved', 'result']);
  expect(result.requests[0]?.headers.get('accept')).toBe('text/event-stream, application/json;q=0.5');
  const refused = JSON.stringify({ ...OVERLOADED, statusCode: 400, code: 'signing_refused', details: { missing: [] } });
  const error = callerOf([() => stream(`event: error\ndata: ${refused}\n\n`)]);
  const failure = { code: 'signing_refused', status: 400, details: { missing: [] } };
  await expect(error.caller.result(call, () => undefined)).rejects.toMatchObject(failure);
  expect(error.requests).toHaveLength(1);
  expect(await callerOf([done]).caller.result(call, () => undefined)).toEqual({ isDone: true });
});

test('the signal of a call ends it, also while it waits for a repetition', async () => {
  const ended = new AbortController();
  const { caller, requests } = callerOf([
    () => {
      queueMicrotask(() => ended.abort(new Error('enough')));
      return json(503, OVERLOADED, { 'retry-after': '50' });
    },
  ]);
  await expect(caller.json({ path: '/', signal: ended.signal })).rejects.toThrow('enough');
  await expect(caller.json({ path: '/', signal: ended.signal })).rejects.toThrow('enough');
  expect(requests).toHaveLength(1);
});

test('events that came together end at the signal', async () => {
  const ended = new AbortController();
  const together = stream('event: message\ndata: 1\n\nevent: message\ndata: 2\n\n');
  const { caller } = callerOf([() => together]);
  const data: unknown[] = [];
  const read = async () => {
    for await (const event of caller.events({ path: '/', signal: ended.signal })) {
      data.push(event.data);
      ended.abort(new Error('enough'));
    }
  };
  await expect(read()).rejects.toThrow('enough');
  expect(data).toEqual([1]);
});

test('a call leaves no listener on its signal', async () => {
  const { signal } = new AbortController();
  const events = 'event: result\ndata: {}\n\n';
  const { caller } = callerOf([overloaded, done, () => stream(events), () => stream(events)]);
  await caller.json({ path: '/', signal });
  await caller.result({ path: '/', signal }, () => undefined);
  for await (const _ of caller.events({ path: '/', signal }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('the progress of a call ends at its signal, too', async () => {
  const text = ['one', 'two', 'result'].map((event) => `event: ${event}\ndata: {}\n\n`).join('');
  const seen: string[] = [];
  const ended = new AbortController();
  const look = ({ event }: { readonly event: string }) => {
    seen.push(event);
    ended.abort(new Error('enough'));
  };
  const { caller } = callerOf([() => stream(text)]);
  await expect(caller.result({ path: '/', signal: ended.signal }, look)).rejects.toThrow('enough');
  expect(seen).toEqual(['one']);
});

test('the error of a stream has the time that the header of a plain answer has', async () => {
  const error = JSON.stringify({ ...OVERLOADED, retryAfter: 7 });
  const { caller } = callerOf([() => stream(`event: error\ndata: ${error}\n\n`)], { maxRetries: 0 });
  const failure = { code: 'overloaded', retryAfterMs: 7_000 };
  await expect(caller.result({ path: '/' }, () => undefined)).rejects.toMatchObject(failure);
});

test('an attempt without an answer ends after the time limit', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const silent: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
  const caller = new Caller({ baseUrl: 'http://service', fetch: silent, maxRetries: 0, timeoutMs: 1_000 });
  const ended = caller.json({ path: '/' }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await ended).toMatchObject({ code: 'unreachable' });
});

describe('of several services', () => {
  const SERVICES = ['http://one', 'http://two'];
  const broken = () => Promise.reject(new TypeError('fetch failed'));
  const page = () => new Response('<html>', { status: 404 });

  /** A caller of two services, each with an answer; the hosts that it asked. */
  function callerOfTwo(one: () => Response | Promise<Response>, two: () => Response | Promise<Response>) {
    const hosts: string[] = [];
    const send: typeof fetch = async (url) => {
      const { host } = new URL(url as string);
      hosts.push(host);
      return host === 'one' ? one() : two();
    };
    return { hosts, caller: new Caller({ baseUrl: SERVICES, fetch: send, maxRetries: 0 }) };
  }

  test.each([
    ['is unreachable', broken],
    ['is overloaded', overloaded],
    ['is a page of a proxy', page],
  ])('the next one receives the call if one %s, and later calls', async (_, failing) => {
    const { caller, hosts } = callerOfTwo(failing, done);
    expect(await caller.json({ path: '/' })).toEqual({ isDone: true });
    expect(await caller.json({ path: '/' })).toEqual({ isDone: true });
    expect(hosts).toEqual(['one', 'two', 'two']);
  });

  test('a feed goes on at the next one', async () => {
    const { caller, hosts } = callerOfTwo(broken, () => stream('event: watermark\ndata: {}\n\n'));
    const read = async () => {
      const events: string[] = [];
      for await (const { event } of caller.events({ path: '/' })) events.push(event);
      return events;
    };
    await expect(read()).rejects.toMatchObject({ code: 'unreachable' });
    expect(await read()).toEqual(['watermark']);
    expect(hosts).toEqual(['one', 'two']);
  });

  test('an error of the call itself is thrown', async () => {
    const refused = () => json(404, { ...OVERLOADED, statusCode: 404, code: 'unknown_transaction' });
    const { caller, hosts } = callerOfTwo(refused, done);
    await expect(caller.json({ path: '/' })).rejects.toMatchObject({ code: 'unknown_transaction' });
    expect(hosts).toEqual(['one']);
  });

  test('the error of the last is thrown if each fails', async () => {
    const { caller, hosts } = callerOfTwo(broken, overloaded);
    await expect(caller.json({ path: '/' })).rejects.toMatchObject({ code: 'overloaded' });
    expect(hosts).toEqual(['one', 'two']);
    expect(() => new Caller({ baseUrl: [] })).toThrow('baseUrl must have at least one URL');
  });
});

describe('without the events of a call', () => {
  const acceptOf = (requests: readonly Request[]) => requests.map(({ headers }) => headers.get('accept'));
  const EACH = ['text/event-stream, application/json;q=0.5', 'application/json'];

  test.each([undefined, null])('the plain answer is taken where the body is %s', async (body) => {
    const response = stream('event: result\ndata: {}\n\n');
    Object.defineProperty(response, 'body', { value: body });
    const { caller, requests } = callerOf([() => response, done]);
    expect(await caller.result({ path: '/' }, () => expect.unreachable())).toEqual({ isDone: true });
    expect(acceptOf(requests)).toEqual(EACH);
  });

  test('the next attempt asks for the plain answer after one that brought nothing in time', async () => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
    const headers = { 'content-type': 'text/event-stream' };
    const requests: Request[] = [];
    const held: typeof fetch = async (url, init) => {
      requests.push(new Request(url as string, init));
      if (requests.length > 1) return done();
      const start = (controller: ReadableStreamDefaultController) =>
        init?.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
      return new Response(new ReadableStream({ start }), { headers });
    };
    const answer = new Caller({ baseUrl: 'http://service', fetch: held, timeoutMs: 1_000 }).result(
      { path: '/' },
      () => undefined,
    );
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await answer).toEqual({ isDone: true });
    expect(acceptOf(requests)).toEqual(EACH);
  });

  test('a service that is not there is asked for its events again', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    const { caller, requests } = callerOf([() => Promise.reject(new TypeError('fetch failed')), done]);
    expect(await caller.result({ path: '/' }, () => undefined)).toEqual({ isDone: true });
    expect(acceptOf(requests)).toEqual([EACH[0], EACH[0]]);
  });
});
