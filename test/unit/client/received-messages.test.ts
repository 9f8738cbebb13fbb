import { afterEach, expect, test, vi } from 'vitest';
import type { StreamEvent } from '../../../src/client/event-stream.ts';
import { Caller } from '../../../src/client/http-call.ts';
import { receiveMessages } from '../../../src/client/received-messages.ts';

afterEach(() => void vi.useRealTimers());

/** Reads this many messages of a service whose streams break off after an event each; returns the pauses between its requests. */
async function pausesOf(messages: number, event: (number: number) => StreamEvent | undefined) {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const askedMs: number[] = [];
  const targets: string[] = [];
  const send: typeof fetch = async (url) => {
    askedMs.push(Date.now());
    targets.push(url as string);
    const sent = event(askedMs.length);
    if (sent === undefined) throw new TypeError('fetch failed');
    const text = `id: ${sent.id}\nevent: ${sent.event}\ndata: ${JSON.stringify(sent.data)}\n\n`;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => controller.error(new TypeError('broken off')),
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  const ended = new AbortController();
  const found: string[] = [];
  const reading = (async () => {
    const caller = new Caller({ baseUrl: 'http://service', fetch: send });
    for await (const { cursor } of receiveMessages(caller, '/messages', { signal: ended.signal })) {
      found.push(cursor);
      if (found.length === messages) ended.abort();
    }
  })();
  await vi.advanceTimersByTimeAsync(60_000);
  await reading;
  return { found, targets, pausesMs: askedMs.slice(1).map((atMs, index) => atMs - (askedMs[index] ?? 0)) };
}

const UNSIGNED = '00'.repeat(42);
const message = (number: number): StreamEvent => ({
  event: 'message',
  id: `c${number}`,
  data: { unsignedMessage: UNSIGNED },
});

test('a stream that breaks off after an event is resumed soon, and after that event', async () => {
  const { found, targets, pausesMs } = await pausesOf(4, message);
  expect(found).toEqual(['c1', 'c2', 'c3', 'c4']);
  expect(targets.at(-1)).toBe('http://service/messages?after=c3');
  expect(pausesMs).toEqual([500, 500, 500]);
});

test('the pauses grow while no event comes', async () => {
  const { pausesMs } = await pausesOf(1, (number) => (number < 4 ? undefined : message(number)));
  expect(pausesMs).toEqual([500, 1_000, 2_000]);
});

/** Answers of a service whose streams bring nothing, and whose pages have one message each. */
function silentService(stream: (signal: AbortSignal | null | undefined) => Response | Promise<Response>) {
  const asked: string[] = [];
  const send: typeof fetch = async (url, init) => {
    const target = (url as string).replace('http://service', '');
    const isStream = new Headers(init?.headers).get('accept') === 'text/event-stream';
    asked.push(isStream ? 'stream' : target);
    if (isStream) return stream(init?.signal);
    const number = asked.length;
    const messages = [
      { messageId: `m${number}a`, unsignedMessage: UNSIGNED },
      { messageId: `m${number}b`, unsignedMessage: UNSIGNED },
    ].slice(0, target.includes('limit=1') ? 1 : 2);
    return Response.json({ messages, nextCursor: `p${number}`, hasMore: number < 5, chains: [] });
  };
  return { asked, send };
}

const withoutBody = () =>
  Object.defineProperty(new Response('', { headers: { 'content-type': 'text/event-stream' } }), 'body', {
    value: undefined,
  });
const held = (signal: AbortSignal | null | undefined) =>
  new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

test.each([
  ['are held back', held],
  ['have no body', withoutBody],
])('pages are read after the same cursor when two streams %s, and a warning says so once', async (_, stream) => {
  vi.useFakeTimers();
  const { asked, send } = silentService(stream);
  const warnings: string[] = [];
  const caller = new Caller({ baseUrl: 'http://service', fetch: send, onWarning: (text) => warnings.push(text) });
  const ended = new AbortController();
  const found: [string, string][] = [];
  const reading = (async () => {
    for await (const { message, cursor } of receiveMessages(caller, '/messages', { signal: ended.signal })) {
      found.push([message.messageId, cursor]);
      if (found.length === 7) ended.abort();
    }
  })();
  await vi.advanceTimersByTimeAsync(60_000);
  await reading;
  expect(asked).toEqual([
    'stream',
    'stream',
    '/messages?limit=1',
    '/messages?after=p3',
    '/messages?after=p4',
    '/messages?after=p5',
  ]);
  const [first, ...others] = found;
  expect(first).toEqual(['m3a', 'p3']);
  // Within a page its beginning is the last cursor behind which nothing is left out.
  expect(others.slice(0, 4)).toEqual([
    ['m4a', 'p3'],
    ['m4b', 'p4'],
    ['m5a', 'p4'],
    ['m5b', 'p5'],
  ]);
  expect(warnings).toEqual([expect.stringContaining('read by pages')]);
});

test('a stream stays open as long as its events come, and is resumed after a minute without', async () => {
  vi.useFakeTimers();
  const openedMs: number[] = [];
  const startMs = Date.now();
  const send: typeof fetch = async (_, init) => {
    openedMs.push(Date.now() - startMs);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const write = () => controller.enqueue(new TextEncoder().encode('id: c\nevent: watermark\ndata: {}\n\n'));
        write();
        for (const seconds of [50, 100, 150]) setTimeout(write, seconds * 1_000);
        init?.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const ended = new AbortController();
  const caller = new Caller({ baseUrl: 'http://service', fetch: send });
  const reading = receiveMessages(caller, '/messages', { signal: ended.signal }).next();
  await vi.advanceTimersByTimeAsync(220_000);
  ended.abort();
  expect((await reading).done).toBe(true);
  expect(openedMs).toEqual([0, 210_500]);
});
