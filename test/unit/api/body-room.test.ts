import { expect, test } from 'vitest';
import { createTestServer, expectError, PATH, RESULT, scriptedAggregator } from './api-fixture.ts';

const LARGE = 256 * 1024;

test('large requests beyond the room are refused before their bodies are read, small ones are not, and room comes back', async () => {
  const { promise: end, resolve } = Promise.withResolvers<typeof RESULT>();
  const { aggregator, asked } = scriptedAggregator(() => end);
  const server = await createTestServer({ aggregator });
  const text = `{"message":"${'0'.repeat(LARGE)}"}`;
  const post = (url: string, body: string) =>
    server.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, body });
  // Their messages are parsed when there is room for them, and are none.
  expectError(await post(PATH, text), 400, /^message is not a Warp message/);
  // These are messages, and wait for their answers.
  const held = Array.from({ length: 16 }, (_, index) =>
    post(index % 2 === 0 ? PATH : '/aggregate-signatures', bodyOf(LARGE)),
  );
  await expect.poll(() => asked.length).toBe(16);
  const refused = await post(PATH, text);
  expectError(refused, 503, /too many large requests/, 'overloaded');
  expect(refused.headers['retry-after']).toBe('1');
  const small = post(PATH, bodyOf(1_000));
  await expect.poll(() => asked.length).toBe(17);
  resolve(RESULT);
  expect((await Promise.all([...held, small])).map(({ statusCode }) => Math.floor(statusCode / 100))).toEqual(
    Array<number>(17).fill(2),
  );
  expectError(await post(PATH, text), 400, /^message is not a Warp message/);
});

test.each(['verify', 'decode'])('large bodies of %s have the same room', async (route) => {
  const { promise: end, resolve } = Promise.withResolvers<typeof RESULT>();
  const { aggregator, asked } = scriptedAggregator(() => end);
  const server = await createTestServer({ aggregator });
  const post = (url: string, body: string) =>
    server.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, body });
  const held = Array.from({ length: 16 }, () => post(PATH, bodyOf(LARGE)));
  await expect.poll(() => asked.length).toBe(16);
  const url = `/v1/signatureAggregator/fuji/${route}`;
  expectError(await post(url, bodyOf(LARGE)), 503, /too many large requests/, 'overloaded');
  // What is small is read, and has the wrong fields.
  expectError(await post(url, '{"message":""}'), 400, /^(signedMessage|data) is missing$/);
  resolve(RESULT);
  await Promise.all(held);
});

test('what has no route, and comes in chunks, takes none', async () => {
  const server = await createTestServer({ aggregator: scriptedAggregator(() => Promise.resolve(RESULT)).aggregator });
  const headers = { 'transfer-encoding': 'chunked' };
  for (let times = 0; times < 20; times += 1) {
    expect((await server.inject({ method: 'POST', url: '/nowhere', headers, body: '{}' })).statusCode).toBe(404);
  }
});

/** Of a message whose body has so many characters. */
function bodyOf(characters: number): string {
  const around = '{"message":""}'.length;
  const bytes = new Uint8Array((characters - around) / 2);
  const payloadLength = bytes.length - 42;
  new DataView(bytes.buffer).setUint32(38, payloadLength);
  return `{"message":"${Buffer.from(bytes).toString('hex')}"}`;
}
