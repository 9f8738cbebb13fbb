import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { Exchange, readBody, readErrorBody } from '../../../../src/lib/net/exchange.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

/** An exchange whose requests end so. */
function exchangeOf(answer: () => Promise<object>) {
  const clock = new FakeClock();
  const openHttp = () => ({ request: answer }) as unknown as Dispatcher;
  const endpoint = { baseUrl: 'https://api.example/v1', queryParameters: { key: 'a-secret' } };
  const exchange = new Exchange(endpoint, { clock, openHttp });
  const request = { method: 'GET', target: '/x', timeoutMs: 1_000, maxBytes: 100 } as const;
  const { signal } = new AbortController();
  const reading = () => exchange.read({ ...request, signal, parse: (text) => text }).catch((error: unknown) => error);
  return { clock, reading };
}

const answerOf =
  (statusCode: number, text: string, headers: object = {}) =>
  async () => ({
    statusCode,
    headers,
    body: (async function* () {
      yield Buffer.from(text);
    })(),
  });

test('an error has the first sentence of the body for clients and for the log, and the pause', async () => {
  const text = '{"message":"api.example refuses a-secret\\nand more"}';
  expect(await exchangeOf(answerOf(429, text, { 'retry-after': '7' })).reading()).toMatchObject({
    code: 'http_status',
    message: 'HTTP status 429: … refuses …',
    detail: 'HTTP status 429: api.example refuses …',
    body: text,
    status: 429,
    retryAfterMs: 7_000,
    mayPass: true,
  });
});

test.each([
  ['another status', answerOf(404, '<html>'), { message: 'HTTP status 404', mayPass: false }],
  ['a long body', answerOf(200, 'x'.repeat(101)), { message: 'response: has more than 100 bytes', mayPass: false }],
  [
    'no connection',
    () => Promise.reject(Object.assign(new Error('connect api.example'), { code: 'ECONNREFUSED' })),
    { message: 'the connection failed (ECONNREFUSED)', detail: 'connect api.example', mayPass: true },
  ],
])('%s is an error', async (_name, answer, expected) => {
  expect(await exchangeOf(answer).reading()).toMatchObject({ name: 'ExchangeError', ...expected });
});

test('an exchange ends with its time', async () => {
  const ended = Promise.withResolvers<never>();
  const { clock, reading } = exchangeOf(() => ended.promise);
  const failed = reading();
  await clock.advance(1_000);
  ended.reject(new Error('aborted'));
  expect(await failed).toMatchObject({ code: 'timeout', message: 'no response within 1000 ms', mayPass: true });
});

const CHUNK = Buffer.alloc(40_000, 'x');

/** A body without an end, and what became of it. */
function endless() {
  const state = { chunks: 0, isClosed: false };
  async function* body() {
    try {
      for (;;) {
        state.chunks += 1;
        if (state.chunks > 100) throw new Error('read on and on');
        yield CHUNK;
      }
    } finally {
      state.isClosed = true;
    }
  }
  return { state, body: body() };
}

test('of the body of an error the beginning is read, and the rest is left', async () => {
  const { state, body } = endless();
  expect(await readErrorBody(body)).toBe('x'.repeat(65_536));
  expect(state).toEqual({ chunks: 2, isClosed: true });
});

test('a body that is too long is left at the first byte too many', async () => {
  const { state, body } = endless();
  await expect(readBody(body, 2 * CHUNK.length)).rejects.toThrow(ParseError);
  expect(state).toEqual({ chunks: 3, isClosed: true });
});

const SHORT = 65_536;
const MAX_BYTES = 4 * SHORT;

/** A body in chunks, which counts those that were read. */
function bodyOf(...lengths: readonly number[]) {
  let taken = 0;
  async function* read(): AsyncGenerator<Buffer> {
    for (const length of lengths) {
      taken += 1;
      yield Buffer.alloc(length, 'a');
    }
  }
  return { body: read(), taken: () => taken };
}

test('a short body is read without a permit', async () => {
  const acquire = (): never => {
    throw new Error('no permit is needed');
  };
  expect(await readBody(bodyOf(1, SHORT - 1).body, MAX_BYTES, acquire)).toHaveLength(SHORT);
});

test('a long body waits for its one permit, and holds it to the end', async () => {
  const granted = Promise.withResolvers<Disposable>();
  let [asked, released] = [0, 0];
  const { body, taken } = bodyOf(SHORT, 1, SHORT, SHORT);
  const reading = readBody(body, MAX_BYTES, () => {
    asked += 1;
    return granted.promise;
  });
  await expect.poll(() => asked).toBe(1);
  expect(taken()).toBe(2);
  granted.resolve({
    [Symbol.dispose]() {
      released += 1;
      expect(taken()).toBe(4);
    },
  });
  expect(await reading).toHaveLength(3 * SHORT + 1);
  expect([asked, released]).toEqual([1, 1]);
});

test('a body that is too long releases its permit, and so does one whose permit is refused', async () => {
  let released = 0;
  const permit = {
    [Symbol.dispose]() {
      released += 1;
    },
  };
  await expect(readBody(bodyOf(SHORT, MAX_BYTES).body, 2 * SHORT, () => permit)).rejects.toThrow(
    'more than 131072 bytes',
  );
  await expect(readBody(bodyOf(SHORT, 1, MAX_BYTES).body, MAX_BYTES, () => permit)).rejects.toThrow('more than 262144');
  expect(released).toBe(1);
  await expect(readBody(bodyOf(SHORT, 1).body, MAX_BYTES, () => Promise.reject(new Error('no time')))).rejects.toThrow(
    'no time',
  );
});
