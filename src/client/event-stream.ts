import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** One server-sent event of a service: its data is JSON. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

/** An event of 10,000 validators has up to 1.5 MB. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;

/** @throws {SyntaxError} if the data of an event is no JSON */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void received.push(event), maxBufferSize: MAX_EVENT_LENGTH });
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    for (const { event = 'message', id, data } of received.splice(0)) {
      yield { event, id, data: JSON.parse(data) as unknown };
    }
  }
}

/** Reads a body. Not every browser can iterate over a stream. A consumer that stops early ends the connection. */
export async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
