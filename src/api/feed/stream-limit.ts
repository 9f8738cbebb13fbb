import { ClientGone, HttpError } from '../../http/errors/http-error.ts';
import type { Counter, Gauge, Metrics } from '../../telemetry/metrics.ts';
import type { CloseReason } from './feed-stream.ts';

/** Each stream has up to 64 KiB in its socket, and positions of pending messages. */
const MAX_STREAMS = 1_024;
/** Programs behind one address may be many. */
export const MAX_STREAMS_EACH = 256;
const RETRY_AFTER_MS = 5_000;

interface Limits {
  readonly total: number;
  readonly each: number;
}

/** Limits the streams of a network, of each client and in all. At the limit of all, a client takes one from the client that has most. */
export class StreamLimit {
  readonly #limits: Limits;
  /** The running streams of each client, the oldest first. */
  readonly #streams = new Map<string, Set<AbortController>>();
  readonly #running: Gauge;
  readonly #closed: Counter<'reason'>;

  /** @param metrics of a network */
  constructor(metrics: Metrics, limits: Limits = { total: MAX_STREAMS, each: MAX_STREAMS_EACH }) {
    this.#limits = limits;
    this.#running = metrics.gauge({ name: 'feed_readers', help: 'Event streams that read the feed' });
    this.#closed = metrics.counter({
      name: 'feed_readers_closed_total',
      help: 'Ended event streams of the feed, by reason: the client disconnected, did not read fast enough, had an expired cursor, had the most streams at their limit; the service failed or stopped',
      labels: ['reason'],
    });
  }

  /** Runs a stream, which has to end when its signal aborts. @throws {HttpError} `overloaded` */
  async run(client: string, stream: (displaced: AbortSignal) => Promise<CloseReason>): Promise<void> {
    this.#makeRoom(client);
    const displaced = new AbortController();
    const own = this.#streams.get(client) ?? new Set();
    this.#streams.set(client, own.add(displaced));
    this.#running.inc(1);
    let reason: CloseReason = 'error';
    try {
      reason = await stream(displaced.signal);
    } catch (error) {
      if (error instanceof ClientGone) reason = 'client';
      throw error;
    } finally {
      this.#remove(client, displaced);
      this.#running.inc(-1);
      this.#closed.inc({ reason });
    }
  }

  #makeRoom(client: string): void {
    const { each, total } = this.#limits;
    const own = this.#streams.get(client)?.size ?? 0;
    if (own >= each) throw overloaded(`the client has ${own} streams`);
    const all = [...this.#streams].reduce((sum, [, { size }]) => sum + size, 0);
    if (all < total) return;
    const [most] = [...this.#streams].toSorted(([, one], [, other]) => other.size - one.size);
    if (most === undefined || most[1].size <= own + 1) throw overloaded(`there are ${all} streams`);
    const [oldest] = most[1];
    if (oldest === undefined) return;
    this.#remove(most[0], oldest);
    oldest.abort();
  }

  #remove(client: string, stream: AbortController): void {
    const streams = this.#streams.get(client);
    streams?.delete(stream);
    if (streams?.size === 0) this.#streams.delete(client);
  }
}

function overloaded(reason: string): HttpError {
  return new HttpError('overloaded', `${reason} of messages, and cannot have more`, { retryAfterMs: RETRY_AFTER_MS });
}
