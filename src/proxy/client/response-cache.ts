import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import { etagOf } from '../../lib/net/etag.ts';
import type { UpstreamAnswer, UpstreamSuccess } from './upstream-answer.ts';
import { UpstreamError } from './upstream-error.ts';

export interface CachePolicy {
  readonly freshMs: number;
  /** Whether the body of a 200 never changes; such an answer is kept for a day. */
  readonly isImmutable?: (body: unknown) => boolean;
}

interface Entry {
  /** A complete answer with the headers `etag` and `cache-control`. */
  readonly answer: UpstreamSuccess & { readonly body: Buffer };
  readonly storedMs: number;
  readonly freshMs: number;
}

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
  readonly #flights = new SingleFlight<string, UpstreamAnswer | undefined>();

  constructor({ clock, maxBytes }: { readonly clock: Clock; readonly maxBytes: number }) {
    this.#clock = clock;
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (entry, key) => entry.answer.body.length + key.length + ENTRY_OVERHEAD_BYTES,
    });
  }

  /**
   * Returns the cached answer with its cache headers, or that of `fetch` if it cannot be cached: a refusal, or an answer that is too long.
   *
   * @param key the upstream and the target
   * @param fetch its argument `isKept` is whether the answer will be cached, and so has to be read whole
   */
  async get(
    key: string,
    policy: CachePolicy,
    fetch: (signal: AbortSignal, isKept: boolean) => Promise<UpstreamAnswer>,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer> {
    const entry = this.#entries.get(key);
    const ageMs = entry === undefined ? 0 : this.#clock.monotonicMs() - entry.storedMs;
    if (entry !== undefined && ageMs < entry.freshMs) return present(entry, ageMs);
    if (this.#long.has(key)) return fetch(signal, false);
    const fetchOnce = (flight: AbortSignal) => this.#fetch(key, policy, () => fetch(flight, true));
    const fetched = await this.#flights.run(key, fetchOnce, signal);
    // A stream cannot be shared: each client reads at its own pace.
    return fetched ?? fetch(signal, false);
  }

  /** @returns undefined if the answer is too long for the cache */
  async #fetch(
    key: string,
    policy: CachePolicy,
    fetch: () => Promise<UpstreamAnswer>,
  ): Promise<UpstreamAnswer | undefined> {
    const response = await fetch();
    if (response.kind === 'refusal') return response;
    const { body, headers } = response;
    if (!Buffer.isBuffer(body)) {
      body.destroy();
      this.#long.set(key, true);
      return undefined;
    }
    if (response.status !== 200) return response;
    const isImmutable = policy.isImmutable !== undefined && policy.isImmutable(parseBody(body));
    const freshMs = isImmutable ? IMMUTABLE_MS : policy.freshMs;
    const cacheControl = `public, max-age=${Math.floor(freshMs / 1_000)}${isImmutable ? ', immutable' : ''}`;
    const answer = { ...response, body, headers: { ...headers, etag: etagOf(body), 'cache-control': cacheControl } };
    const entry = { answer, storedMs: this.#clock.monotonicMs(), freshMs };
    this.#entries.set(key, entry);
    return present(entry, 0);
  }
}

function present({ answer }: Entry, ageMs: number): UpstreamSuccess {
  return { ...answer, headers: { ...answer.headers, age: String(Math.floor(ageMs / 1_000)) } };
}

function parseBody(body: Buffer): unknown {
  const json = attempt(() => parseJson(body.toString('utf8'), 'body'));
  if (!(json instanceof ParseError)) return json;
  throw new UpstreamError('upstream_invalid_answer', 'the upstream answered with broken JSON', { cause: json });
}
