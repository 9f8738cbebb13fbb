import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import { attempt } from '../../lib/encoding/parse-error.ts';
import { etagOf } from '../../lib/net/etag.ts';
import { isStream, type UpstreamRefusal, type UpstreamResponse, type UpstreamSuccess } from './upstream-answer.ts';
import { UpstreamError } from './upstream-error.ts';

export interface CachePolicy {
  readonly freshMs: number;
  /** Whether the body of a 200 never changes; such an answer is kept for a day. */
  readonly isImmutable?: (body: unknown) => boolean;
}

type WholeSuccess = UpstreamSuccess & { readonly body: Buffer };

interface Entry {
  readonly response: WholeSuccess;
  readonly etag: string;
  readonly storedMs: number;
  readonly freshMs: number;
  readonly isImmutable: boolean;
}

/** A complete answer with the values of its cache headers. */
export interface CachedResponse extends Entry {
  readonly kind: 'cached';
  readonly ageMs: number;
}

type Fetched = Entry | WholeSuccess | UpstreamRefusal | 'too long';

/** A bound even for immutable answers: the upstream may have been wrong. */
const IMMUTABLE_MS = 24 * 60 * 60 * 1_000;
/** Key, headers and the entry itself, beside the body. */
const ENTRY_OVERHEAD_BYTES = 512;
/** Targets whose answers are too long for the cache: otherwise each request for one would be sent twice. */
const MAX_LONG_TARGETS = 1_000;

/** Cache of upstream answers, bounded by bytes, with single flight for equal requests. */
export class ResponseCache {
  readonly #clock: Clock;
  readonly #entries: LRUCache<string, Entry>;
  readonly #long = new LRUCache<string, true>({ max: MAX_LONG_TARGETS });
  readonly #flights = new SingleFlight<string, Fetched>();

  constructor({ clock, maxBytes }: { readonly clock: Clock; readonly maxBytes: number }) {
    this.#clock = clock;
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (entry, key) => entry.response.body.length + key.length + ENTRY_OVERHEAD_BYTES,
    });
  }

  /**
   * Returns the cached answer, or that of `fetch` if it cannot be cached: a refusal, or an answer that is too long.
   *
   * @param key the upstream and the target
   * @param fetch its argument `isKept` is whether the answer will be cached, and so has to be read whole
   */
  async get(
    key: string,
    policy: CachePolicy,
    fetch: (signal: AbortSignal, isKept: boolean) => Promise<UpstreamResponse>,
    signal: AbortSignal,
  ): Promise<CachedResponse | UpstreamResponse> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#ageOf(entry) < entry.freshMs) return this.#present(entry);
    if (this.#long.has(key)) return fetch(signal, false);
    const fetched = await this.#flights.run(
      key,
      async (flightSignal) => this.#fetch(key, policy, () => fetch(flightSignal, true)),
      signal,
    );
    // A stream cannot be shared: each client reads at its own pace.
    if (fetched === 'too long') return fetch(signal, false);
    return 'storedMs' in fetched ? this.#present(fetched) : fetched;
  }

  async #fetch(key: string, policy: CachePolicy, fetch: () => Promise<UpstreamResponse>): Promise<Fetched> {
    const response = await fetch();
    if (response.kind === 'refusal') return response;
    const { body } = response;
    if (!Buffer.isBuffer(body)) {
      if (isStream(body)) body.destroy();
      this.#long.set(key, true);
      return 'too long';
    }
    const whole = { ...response, body };
    if (response.status !== 200) return whole;
    const isImmutable = policy.isImmutable !== undefined && policy.isImmutable(parseJson(body));
    const entry: Entry = {
      response: whole,
      etag: etagOf(body),
      storedMs: this.#clock.monotonicMs(),
      freshMs: isImmutable ? IMMUTABLE_MS : policy.freshMs,
      isImmutable,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #present(entry: Entry): CachedResponse {
    return { kind: 'cached', ...entry, ageMs: this.#ageOf(entry) };
  }

  #ageOf({ storedMs }: Entry): number {
    return this.#clock.monotonicMs() - storedMs;
  }
}

function parseJson(body: Buffer): unknown {
  const json: unknown = attempt(() => JSON.parse(body.toString('utf8')), SyntaxError);
  if (!(json instanceof SyntaxError)) return json;
  throw new UpstreamError('upstream_invalid_answer', 'the upstream answered with broken JSON', { cause: json });
}
