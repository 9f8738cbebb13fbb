import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { expect, onTestFinished, test } from 'vitest';
import type { FeedMessageRecord } from '../../../src/api/feed/feed-records.ts';
import { createClient } from '../../../src/client/client.ts';
import type { SignatureAggregatorError } from '../../../src/client/client-error.ts';
import { shareService } from './shared-service.ts';

/** `FEED_RESTARTS=20 npm test -- feed-restarts` sends 200 messages. */
const RESTARTS = Number(process.env['FEED_RESTARTS'] ?? 3);
/** Messages while the service runs, and while it does not. */
const MESSAGES = { up: 6, down: 4 };
const PATH = '/v1/signatureAggregator/local/messages';
const PAUSE_MS = 20;
const SETTLE_MS = 60_000;
const TIMEOUT_MS = 60_000 + 15_000 * RESTARTS;

const service = await shareService(5);
const chains = [{ blockchainId: service.devnet.subnets.l1.blockchainID }, { blockchainId: 'C' as const }];

const NOTHING_MISSED = ['pages', 'stream', 'client'].map((name) => ({ name, missing: 0, untold: 0, expired: 0 }));

/** What a reader has received. */
class Received {
  readonly signed = new Set<string>();
  /** Numbers of the starts after which the reader learnt that its cursor has expired. */
  readonly expired = new Set<number>();
  /** Whether it has had a cursor. */
  hasBegun = false;
  readonly #starts: () => number;

  constructor(starts: () => number) {
    this.#starts = starts;
  }

  take({ status, messageId }: Pick<FeedMessageRecord, 'status' | 'messageId'>): void {
    if (status === 'signed') this.signed.add(messageId);
  }

  expire(): void {
    this.expired.add(this.#starts());
  }
}

interface ReaderOptions {
  readonly url: string;
  readonly signal: AbortSignal;
  readonly received: Received;
}

/** Repeats an act until the signal aborts. The service is away at times. */
async function repeated(signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act().catch(() => undefined);
    await sleep(PAUSE_MS);
  }
}

function readPages({ url, signal, received }: ReaderOptions): Promise<void> {
  let after = '';
  return repeated(signal, async () => {
    const response = await fetch(`${url}${PATH}?limit=5${after === '' ? '' : `&after=${after}`}`, { signal });
    const body = (await response.json()) as Record<string, unknown>;
    if (response.status === 410) {
      received.expire();
      after = (body['details'] as { oldestCursor: string }).oldestCursor;
    }
    if (response.status !== 200) return;
    for (const message of body['messages'] as FeedMessageRecord[]) received.take(message);
    after = String(body['nextCursor']);
    received.hasBegun = true;
  });
}

function readStream({ url, signal, received }: ReaderOptions): Promise<void> {
  let after = '';
  return repeated(signal, async () => {
    const headers = { accept: 'text/event-stream', ...(after !== '' && { 'last-event-id': after }) };
    const response = await fetch(`${url}${PATH}`, { headers, signal });
    if (response.status !== 200) return;
    const parser = createParser({
      onEvent({ id, event, data }) {
        if (event === 'message') received.take(JSON.parse(data) as FeedMessageRecord);
        if (event === 'expired') received.expire();
        after = event === 'expired' ? (JSON.parse(data) as { oldestCursor: string }).oldestCursor : (id ?? after);
        received.hasBegun = true;
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      parser.feed(decoder.decode(chunk, { stream: true }));
    }
  });
}

function readByClient({ url, signal, received }: ReaderOptions): Promise<void> {
  const client = createClient({ baseUrl: url, network: 'local' });
  let after: string | undefined;
  return repeated(signal, async () => {
    received.hasBegun = true;
    try {
      for await (const { message, cursor } of client.messages({ ...(after !== undefined && { after }), signal })) {
        received.take(message);
        after = cursor;
      }
    } catch (error) {
      const { code, details } = error as SignatureAggregatorError;
      if (code !== 'cursor_expired') throw error;
      received.expire();
      after = (details as { oldestCursor: string }).oldestCursor;
    }
  });
}

/** How the service stops watching chains, and begins again. */
type Disturbance = 'restart' | 'reload';

/** Disturbs the service while messages come, and returns what readers received, and the messages by the start before them. */
async function disturb(how: Disturbance, store: object) {
  const first = await service.another({ network: { feed: { chains } }, store });
  const { url } = first.app;
  const settings = { network: { feed: { chains } }, store, server: { port: Number(new URL(url).port) } };
  const watch = async (watched: typeof chains): Promise<void> => {
    const networks = first.config.networks.map((network) => ({
      ...network,
      feed: { ...network.feed, chains: watched },
    }));
    await first.app.update({ ...first.config, networks });
  };
  let running: AsyncDisposable = first;
  const { leave, comeBack } = {
    restart: {
      leave: () => running[Symbol.asyncDispose](),
      async comeBack() {
        running = await service.another(settings);
      },
    },
    reload: { leave: () => watch(chains.slice(1)), comeBack: () => watch(chains) },
  }[how];
  let starts = 0;
  const emitted: { readonly id: string; readonly start: number }[] = [];
  const emit = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const chain = service.devnet.chains[index % 2 === 0 ? 'L1' : 'C'];
      emitted.push({ id: chain.emit(Buffer.from(`${url} ${emitted.length}`)).id, start: starts });
      await sleep(PAUSE_MS);
    }
  };
  const leaving = new AbortController();
  const { signal } = leaving;
  const readers = { pages: readPages, stream: readStream, client: readByClient };
  const read = Object.entries(readers).map(([name, reader]) => {
    const received = new Received(() => starts);
    return { name, received, ended: reader({ url, signal, received }) };
  });
  try {
    while (read.some(({ received }) => !received.hasBegun)) await sleep(PAUSE_MS);
    await emit(MESSAGES.up);
    for (let index = 0; index < RESTARTS; index += 1) {
      await emit(MESSAGES.up);
      await leave();
      await emit(MESSAGES.down);
      starts += 1;
      await comeBack();
    }
    await emit(MESSAGES.up);
    // Without a store, those before the last start may be lost.
    const awaited = how === 'restart' && !('path' in store) ? emitted.slice(-MESSAGES.up) : emitted;
    for (let waitedMs = 0; waitedMs < SETTLE_MS; waitedMs += PAUSE_MS) {
      if (read.every(({ received }) => awaited.every(({ id }) => received.signed.has(id)))) break;
      await sleep(PAUSE_MS);
    }
  } finally {
    leaving.abort();
    await Promise.all(read.map(({ ended }) => ended));
    await running[Symbol.asyncDispose]();
  }
  return read.map(({ name, received }) => {
    const missing = emitted.filter(({ id }) => !received.signed.has(id));
    // A message is lost with its start, or with the next one if its chain was not watched yet. The client pauses for longer than a start lasts.
    const latest = name === 'client' ? Number.POSITIVE_INFINITY : 1;
    const untold = missing.filter(({ start }) =>
      [...received.expired].every((expiry) => expiry < start || expiry > start + latest),
    );
    return { name, missing: missing.length, untold: untold.length, expired: received.expired.size };
  });
}

test(
  'with store.path readers miss nothing when the service restarts',
  async () => {
    const path = mkdtempSync(join(tmpdir(), 'feed-restarts-'));
    onTestFinished(() => rmSync(path, { recursive: true }));
    const results = await disturb('restart', { path });
    expect(results).toEqual(NOTHING_MISSED);
  },
  TIMEOUT_MS,
);

test(
  'without store.path readers learn of each loss',
  async () => {
    const results = await disturb('restart', {});
    for (const { name, missing, untold, expired } of results) {
      expect({ name, untold, knows: missing === 0 || expired > 0 }).toEqual({ name, untold: 0, knows: true });
    }
  },
  TIMEOUT_MS,
);

test.each([
  ['with', true],
  ['without', false],
])(
  '%s store.path readers miss nothing when a chain is removed and added again by reloads',
  async (_, isStored) => {
    const path = mkdtempSync(join(tmpdir(), 'feed-reloads-'));
    onTestFinished(() => rmSync(path, { recursive: true }));
    expect(await disturb('reload', isStored ? { path } : {})).toEqual(NOTHING_MISSED);
  },
  TIMEOUT_MS,
);
