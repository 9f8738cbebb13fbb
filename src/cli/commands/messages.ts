import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { FEED_EVENTS, type FeedMessageRecord, MessagePage } from '../../api/feed/feed-records.ts';
import { ForgottenChain } from '../../api/feed/forget-route.ts';
import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { CommandFailure, EXIT, type ExitCode } from '../io/exit-codes.ts';
import { ServiceClient } from '../io/service-client.ts';
import { messageOf, print, printable, styled } from '../io/text.ts';

export interface MessagesOptions {
  readonly url: string;
  readonly network?: string;
  readonly apiKey?: string;
  readonly timeout: number;
  readonly after?: string;
  readonly source?: string;
  readonly transaction?: string;
  readonly sender?: string;
  readonly destination?: string;
  readonly status?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** Default of `--after`. */
const RECENT = 'recent';
const PAUSES = { baseMs: 500, maxMs: 10_000 };
/** Bounds the requests to a faulty service: a million messages are ten times what is stored by default. */
const MAX_PAGES = 10_000;
const PAGE_SIZE = 100;

/** Prints the messages of watched chains. @throws {CommandFailure} */
export async function showMessages(options: MessagesOptions): Promise<ExitCode> {
  let cursor = options.after ?? RECENT;
  const show = (message: FeedMessageRecord, next = cursor): void => {
    print(options.json === true ? JSON.stringify(message) : lineOf(message));
    cursor = next;
  };
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  process.once('SIGINT', leave);
  try {
    if (options.follow === true) await follow(options, () => cursor, show, leaving.signal);
    else cursor = await readPages(options, cursor, show, leaving.signal);
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', leave);
    if (cursor !== RECENT) process.stderr.write(`go on with --after ${printable(cursor)}\n`);
  }
  return EXIT.done;
}

/** Lets the feed of a service forget a chain, and prints what was removed. @throws {CommandFailure} */
export async function forgetChain(blockchainID: string, options: MessagesOptions): Promise<ExitCode> {
  await using client = openClient(options);
  const path = await client.networkPath(options.network, undefined);
  const forgotten = await client.post(`${path}/messages/${encodeURIComponent(blockchainID)}/forget`, ForgottenChain);
  const text = `the feed has forgotten the chain, with ${forgotten.removed} messages`;
  print(options.json === true ? JSON.stringify(forgotten) : text);
  return EXIT.done;
}

/** @returns the cursor of the next page */
async function readPages(
  options: MessagesOptions,
  after: string,
  show: (message: FeedMessageRecord) => void,
  signal: AbortSignal,
): Promise<string> {
  await using client = openClient(options);
  const path = `${await client.networkPath(options.network, undefined)}/messages`;
  let cursor = after;
  for (let pages = 0; pages < MAX_PAGES && !signal.aborted; pages += 1) {
    const query = queryOf(options, { after: cursor, limit: String(PAGE_SIZE) });
    const page = await client.get(`${path}?${query}`, MessagePage);
    for (const message of page.messages) show(message);
    cursor = page.nextCursor;
    if (!page.hasMore) break;
  }
  return cursor;
}

/** Follows the stream, and connects again after a disconnect, until the signal aborts. */
async function follow(
  options: MessagesOptions,
  cursorOf: () => string,
  show: (message: FeedMessageRecord, cursor: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    try {
      await using client = openClient(options);
      const path = `${await client.networkPath(options.network, undefined)}/messages`;
      const after = cursorOf();
      const events = client.stream(`${path}?${queryOf(options, { after })}`, signal);
      for await (const { id = after, event, data } of events) {
        failures = 0;
        if (event === 'expired') throw expired(data);
        if (event === 'message' && isOf(FEED_EVENTS.message.data, data)) show(data as FeedMessageRecord, id);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CommandFailure) || error.exitCode !== EXIT.later) throw error;
      process.stderr.write(`${messageOf(error)}\n`);
    }
    await sleep(systemClock, backoffMs(failures + 1, PAUSES), signal);
  }
}

/** Adds the filters, to which a cursor belongs. */
function queryOf(options: MessagesOptions, place: Record<string, string>): string {
  const { source, transaction: txHash, sender, destination, status } = options;
  const filters = { sourceBlockchainId: source, txHash, sender, destinationBlockchainId: destination, status };
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams([...given, ...Object.entries(place)]).toString();
}

function openClient({ url, apiKey, timeout }: MessagesOptions): ServiceClient {
  return new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout });
}

function expired(data: unknown): CommandFailure {
  const oldest = isOf(FEED_EVENTS.expired.data, data) ? (data as { oldestCursor: string }).oldestCursor : RECENT;
  return new CommandFailure(
    EXIT.usage,
    `messages after the cursor are no longer stored; go on with the oldest stored: --after ${printable(oldest)}`,
  );
}

function isOf(schema: TSchema, value: unknown): boolean {
  return Value.Check(schema, value);
}

/** Of a Date. */
const MAX_TIME_MS = 8.64e15;

const COLOURS = { signed: 'green', pending: 'yellow', failed: 'red' } as const;

/** Every text of the service may have control characters. */
function lineOf(message: FeedMessageRecord): string {
  const { blockTime, status, messageId, sourceChain, sourceBlockchainId, blockNumber, logIndex, sender } = message;
  const chain = printable(sourceChain ?? sourceBlockchainId);
  const to = message.destinationBlockchainId === undefined ? '' : `  to ${printable(message.destinationBlockchainId)}`;
  const why = message.failure === undefined ? '' : `  ${printable(message.failure.message)}`;
  return [
    new Date(Math.min(blockTime, MAX_TIME_MS)).toISOString(),
    styled(COLOURS[status], status.padEnd('pending'.length)),
    printable(messageId),
    `${chain} ${blockNumber}:${logIndex}`,
    `from ${printable(sender)}${to}${why}`,
  ].join('  ');
}
