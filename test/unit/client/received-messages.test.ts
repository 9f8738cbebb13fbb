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

const message = (number: number): StreamEvent => ({ event: 'message', id: `c${number}`, data: {} });

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
