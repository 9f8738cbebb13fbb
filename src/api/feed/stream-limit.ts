import { ClientGone, HttpError } from '../../http/errors/http-error.ts';
import { addTo } from '../../lib/encoding/counts.ts';
import type { Counter, Gauge, Metrics } from '../../telemetry/metrics.ts';
import type { CloseReason } from './feed-stream.ts';

/** Each stream has up to 64 KiB in its socket, and 200 positions for each message that its client has not seen signed. */
const MAX_STREAMS = 1_024;
/** Programs behind one address may be many. */
export const MAX_STREAMS_EACH = 256;
const RETRY_AFTER_MS = 5_000;

/** Limits the streams of a network, of each client and in all. */
export class StreamLimit {
  readonly #counts = new Map<string, number>();
  #total = 0;
  readonly #running: Gauge;
  readonly #closed: Counter<'reason'>;

  /** @param metrics of a network */
  constructor(metrics: Metrics) {
    this.#running = metrics.gauge({ name: 'feed_readers', help: 'Event streams that read the feed' });
    this.#closed = metrics.counter({
      name: 'feed_readers_closed_total',
      help: 'Ended event streams of the feed, by reason: the client disconnected, did not read fast enough, had an expired cursor; the service failed or stopped',
      labels: ['reason'],
    });
  }

  /** Runs a stream. @throws {HttpError} `overloaded` */
  async run(client: string, stream: () => Promise<CloseReason>): Promise<void> {
    const own = this.#counts.get(client) ?? 0;
    if (own >= MAX_STREAMS_EACH || this.#total >= MAX_STREAMS) {
      const whose = own >= MAX_STREAMS_EACH ? `the client has ${own} streams` : `there are ${this.#total} streams`;
      throw new HttpError('overloaded', `${whose} of messages, and cannot have more`, { retryAfterMs: RETRY_AFTER_MS });
    }
    this.#add(client, 1);
    let reason: CloseReason = 'error';
    try {
      reason = await stream();
    } catch (error) {
      if (error instanceof ClientGone) reason = 'client';
      throw error;
    } finally {
      this.#add(client, -1);
      this.#closed.inc({ reason });
    }
  }

  #add(client: string, count: 1 | -1): void {
    addTo(this.#counts, client, count);
    this.#total += count;
    this.#running.inc(count);
  }
}
