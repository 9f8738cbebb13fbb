import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Registry } from 'prom-client';
import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FEED_EVENTS, type FeedMessageRecord } from '../../../../src/api/feed/feed-records.ts';
import { SLOW_AFTER_MS } from '../../../../src/api/feed/feed-stream.ts';
import { MAX_STREAMS_EACH } from '../../../../src/api/feed/stream-limit.ts';
import type { EmittedMessage } from '../../../../src/feed/feed-message.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { blocks, CHAIN, emitted, OTHER_CHAIN } from '../../feed/emitted.ts';
import { closed, limitedTo, portOf, type TestServerOptions } from '../api-fixture.ts';
import { createFeedServer, createStore, MESSAGES_PATH, SIGNATURE, sign } from './feed-fixture.ts';

const GATHERED_MS = 20;
const WATERMARK_MS = 3_000;

interface Told {
  readonly id: string | undefined;
  readonly event: keyof typeof FEED_EVENTS;
  readonly data: FeedMessageRecord & { oldestCursor: string; chains: { blockchainId: string }[] };
}

const CHECKS = Object.fromEntries(
  Object.entries(FEED_EVENTS).map(([kind, { data }]) => [kind, Schema.Compile(closed(data) as TSchema)]),
);

function parse(stream: string): Told[] {
  return stream
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const [, id, event = '', lines = ''] = /^(?:id: (.*)\n)?event: (\w+)\n((?:data: .*\n?)+)$/.exec(block) ?? [];
      const data = JSON.parse(lines.replaceAll(/^data: /gm, ''));
      expect(CHECKS[event]?.Errors(data)).toEqual([true, []]);
      return { id, event, data } as Told;
    });
}

/** The messages among events, as block, log index and status; watermarks are left out. */
function messagesOf(told: readonly Told[]): string[] {
  return told.flatMap(({ event, data }) =>
    event === 'watermark' ? [] : [event === 'message' ? `${data.blockNumber}.${data.logIndex} ${data.status}` : event],
  );
}

async function start(options: TestServerOptions = {}) {
  const store = createStore();
  const clock = new FakeClock(10_000);
  const registry = new Registry();
  const server = await createFeedServer(() => store, { clock, registry, ...options });
  await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    server.server.closeAllConnections();
    return server.close();
  });
  const responses: ServerResponse[] = [];
  server.server.on('request', (_request: IncomingMessage, response: ServerResponse) => responses.push(response));
  const url = `http://127.0.0.1:${portOf(server)}${MESSAGES_PATH}`;

  /** Opens a stream, and returns a function that reads its next events. */
  async function open(query = '', headers: Record<string, string> = {}) {
    const answer = fetch(`${url}${query}`, { headers: { accept: 'text/event-stream', ...headers } });
    for (let opened = responses.length; responses.length === opened; ) await settle();
    // Until the request is handled: it passes hooks, and the first events wait for more.
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(1);
    await clock.advance(GATHERED_MS);
    const response = await answer;
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let received = '';
    return {
      response,
      leave: () => reader.cancel(),
      /** All that was read. */
      text: () => received,
      /** Reads until the given event. */
      async until(isLast: (told: Told) => boolean): Promise<Told[]> {
        for (let text = ''; ; ) {
          const { done, value } = await reader.read();
          const chunk = decoder.decode(value, { stream: true });
          received += chunk;
          text += chunk;
          const complete = text.slice(0, text.lastIndexOf('\n\n') + 2);
          const told = parse(complete);
          if (done || told.some(isLast)) return told;
        }
      },
    };
  }
  const metric = async (name: string) => registry.getSingleMetricAsString(`signature_aggregator_${name}`);
  return { store, clock, server, responses, open, metric };
}

const isWatermark = ({ event }: Told) => event === 'watermark';

describe('a stream of messages', () => {
  test('sends stored messages, a watermark, and then new messages at once', async () => {
    const { store, clock, open } = await start();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0), emitted(10, 1)]));
    sign(store, emitted(10, 0), emitted(10, 1));
    const { until, response } = await open();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const stored = await until(isWatermark);
    expect(messagesOf(stored)).toEqual(['10.0 signed', '10.1 signed']);
    expect(stored.at(-1)?.data.chains.map(({ blockchainId }) => blockchainId)).toEqual([CHAIN, OTHER_CHAIN]);
    store.append(CHAIN, blocks(11, 11, [emitted(11, 0)]));
    sign(store, emitted(11, 0));
    await clock.advance(GATHERED_MS);
    expect(messagesOf(await until(({ event }) => event === 'message'))).toEqual(['11.0 signed']);
  });

  test('goes on after Last-Event-ID, first with what was signed since', async () => {
    const { store, clock, open } = await start();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    sign(store, emitted(11, 0));
    await clock.advance(10_000);
    const first = await (await open()).until(({ data }) => data.blockNumber === 11);
    expect(messagesOf(first)).toEqual(['10.0 pending', '11.0 signed']);
    sign(store, emitted(10, 0));
    store.append(CHAIN, blocks(12, 12, [emitted(12, 0)]));
    sign(store, emitted(12, 0));
    const id = first.findLast(({ event }) => event === 'message')?.id ?? '';
    const second = await open('?after=recent', { 'last-event-id': id });
    expect(messagesOf(await second.until(isWatermark))).toEqual(['10.0 signed', '12.0 signed']);
  });

  test('sends a message as pending after ten seconds, and again when it is signed', async () => {
    const { store, clock, open } = await start();
    const other = { ...emitted(10, 5, { chainID: OTHER_CHAIN }), executedMs: clock.now() };
    const held = { ...emitted(10, 0), executedMs: clock.now() };
    store.append(CHAIN, blocks(10, 11, [held, emitted(11, 0)]));
    store.append(OTHER_CHAIN, blocks(10, 10, [other]));
    sign(store, other, emitted(11, 0));
    const { until } = await open();
    const first = await until(isWatermark);
    expect(messagesOf(first)).toEqual(['10.5 signed', '11.0 signed']);
    expect(first.at(-1)?.data.chains).toMatchObject([
      { blockchainId: CHAIN, watermark: { blockNumber: 11 }, signedThrough: 9 },
      { blockchainId: OTHER_CHAIN, watermark: { blockNumber: 10 }, signedThrough: 10 },
    ]);
    await clock.advance(10_000);
    const later = await until(({ data }) => data.blockNumber === 10);
    expect(messagesOf(later)).toEqual(['10.0 pending']);
    sign(store, held);
    await clock.advance(GATHERED_MS);
    const [again] = await until(({ event }) => event === 'message');
    expect(again && messagesOf([again])).toEqual(['10.0 signed']);
    expect(again?.id).not.toBe(later.at(-1)?.id);
  });

  test('has a line for each field, none of which is too long, and no second copy of a message', async () => {
    const { store, open } = await start();
    const [long, longest] = [24 * 1024, 40_000].map((bytes, index) =>
      emitted(10, index, { message: createUnsignedMessage(1, CHAIN, new Uint8Array(bytes)) }),
    ) as [EmittedMessage, EmittedMessage];
    store.append(CHAIN, blocks(10, 10, [long, longest]));
    store.setSigned(long, { ...SIGNATURE, signedMessage: Buffer.concat([long.message.bytes, new Uint8Array(300)]) });
    store.setFailed(longest, { code: 'insufficient_weight', reason: 'too few', attempts: 1, failedMs: 5 }, 20_000);
    const { until, text } = await open('?include=accessList');
    const [first, second] = (await until(isWatermark)).map(({ data }) => data);
    expect(
      Math.max(
        ...text()
          .split('\n')
          .map(({ length }) => length),
      ),
    ).toBeLessThanOrEqual(60_000);
    expect(text()).toContain('\ndata:  "blockNumber": 10,\n');
    expect(first?.unsignedMessage).toBeUndefined();
    expect(first?.signedMessage).toHaveLength(2 * (long.message.bytes.length + 300));
    expect(first?.accessList?.[0]?.storageKeys.length).toBeGreaterThan(700);
    expect([second?.status, second?.unsignedMessage, second?.payload.kind]).toEqual(['failed', undefined, 'unknown']);
  });

  test('of a message that is not signed has the unsigned one', async () => {
    const { store, open } = await start();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const [message] = await (await open('?status=pending')).until(isWatermark);
    expect(message?.data.unsignedMessage).toBe(Buffer.from(emitted(10, 0).message.bytes).toString('hex'));
  });

  test('shows the second failure of a message after it, and not the first', async () => {
    const { store, clock, open } = await start();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const failure = { code: 'insufficient_weight', reason: 'too few signed', attempts: 1, failedMs: 5 };
    store.setFailed(emitted(10, 0), failure, 20_000);
    const first = await (await open()).until(({ event }) => event === 'message');
    store.setFailed(emitted(10, 0), { ...failure, code: 'not_connected', attempts: 2, failedMs: 6 }, 30_000);
    await clock.advance(GATHERED_MS);
    const second = await (await open()).until(({ event }) => event === 'message');
    expect([first, second].map(([message]) => message?.data.failure)).toMatchObject([
      { code: 'insufficient_weight', attempts: 1 },
      { code: 'not_connected', attempts: 2 },
    ]);
  });

  test('of quiet chains sends watermarks with a cursor', async () => {
    const { store, clock, open } = await start();
    const { until } = await open();
    const [first] = await until(isWatermark);
    store.append(CHAIN, blocks(10, 12));
    store.confirm(CHAIN, blocks(10, 12));
    await clock.advance(WATERMARK_MS);
    const [second] = await until(isWatermark);
    expect(second?.data.chains[0]).toMatchObject({ watermark: { blockNumber: 12 }, signedThrough: 12 });
    expect(second?.id).not.toBe(first?.id);
  });

  test('of an expired cursor ends with the oldest one', async () => {
    const { store, clock, open, metric } = await start();
    const overtaken = await open();
    const [watermark] = await overtaken.until(isWatermark);
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    store.prune({ beforeMs: 11_000, maxMessages: 100, maxBytes: 1e9 });
    await clock.advance(11_000);
    const expired = await (await open(`?after=${watermark?.id}`)).until(() => false);
    expect(expired.map(({ event, id }) => [event, id])).toEqual([['expired', undefined]]);
    const rest = await (await open(`?after=${expired[0]?.data.oldestCursor}`)).until(isWatermark);
    expect(messagesOf(rest)).toEqual(['11.0 pending']);
    expect((await overtaken.until(() => false)).map(({ event }) => event)).toEqual(['expired']);
    expect(await metric('feed_readers_closed_total')).toContain('reason="expired"} 2');
  });

  test('ends with a cursor when the service stops, and leaves nothing behind when the client leaves', async () => {
    const { server, store, clock, open, metric } = await start();
    const { onChange } = store;
    let listeners = 0;
    store.onChange = (listener) => {
      const unsubscribe = onChange(listener);
      listeners += 1;
      return () => {
        listeners -= 1;
        unsubscribe();
      };
    };
    const one = await open();
    const other = await open();
    await one.leave();
    while (/ 2$/m.test(await metric('feed_readers'))) await settle();
    const closing = server.close();
    expect((await other.until(() => false)).at(-1)).toMatchObject({ event: 'watermark', id: expect.any(String) });
    await closing;
    const ended = await metric('feed_readers_closed_total');
    expect(ended).toContain('reason="client"} 1');
    expect(ended).toContain('reason="shutdown"} 1');
    expect([clock.pendingTimers, listeners]).toEqual([0, 0]);
  });

  test('of a client that does not read is ended, with a bounded buffer', async () => {
    const { store, clock, server, responses, metric } = await start();
    const messages = Array.from({ length: 200 }, (_, index) => ({
      ...emitted(10, index),
      message: createUnsignedMessage(1, CHAIN, new Uint8Array(20_000).fill(index)),
    }));
    store.append(CHAIN, blocks(10, 10, messages));
    sign(store, ...messages);
    const socket = connect(portOf(server), '127.0.0.1').pause();
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(`GET ${MESSAGES_PATH} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n`);
    while (responses.length === 0) await settle();
    const [response] = responses as [ServerResponse];
    let most = 0;
    while (!response.writableNeedDrain || most < response.writableLength) {
      most = Math.max(most, response.writableLength);
      await clock.advance(GATHERED_MS);
    }
    expect(most).toBeLessThan(256 * 1024);
    await clock.advance(SLOW_AFTER_MS);
    expect(await metric('feed_readers_closed_total')).toContain('reason="lagging"} 1');
    const ended = once(response, 'close');
    await clock.advance(SLOW_AFTER_MS);
    await ended;
    expect(clock.pendingTimers).toBe(0);
  }, 20_000);

  test('costs ten units, and one for each minute', async () => {
    const { clock, open, server } = await start({ access: limitedTo(600) });
    const remaining = async () =>
      Number((await server.inject({ url: MESSAGES_PATH })).headers['x-ratelimit-remaining']);
    const { response } = await open();
    expect(response.headers.get('x-ratelimit-remaining')).toBe('590');
    await clock.advance(59_000);
    const before = await remaining();
    await clock.advance(1_000);
    expect(await remaining()).toBe(before - 2);
  });

  test('is refused to a client that has too many', async () => {
    const { open } = await start();
    for (let index = 0; index < MAX_STREAMS_EACH; index += 1) await open();
    const { response } = await open();
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  }, 60_000);
});
