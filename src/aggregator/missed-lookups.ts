import type { Clock } from '../primitives/clock.ts';
import { createLru } from '../primitives/lru.ts';

/** So many at once: whoever watches some chains or transactions that are about to appear asks for them again and again. */
const MAX_AT_ONCE = 64;
/** A lookup that finds nothing takes about a millisecond of this machine, and as much of the API's: a few percent of one core. */
const MISS_MS = 1_000 / 32;
/** Clients with misses of the last seconds; a key is a short text, so a few MB. The oldest is forgotten, and starts anew. */
const MAX_CLIENTS = 10_000;

/**
 * What clients asked for and nobody has: chains, subnets, transactions. Each such request costs a call of the P-Chain API, and no memory of
 * what is missing helps where every one names another. Whoever asks for nothing but those is not looked up for any more
 * until some time has passed; those who ask for what exists never notice.
 */
export class MissedLookups {
  readonly #clock: Clock;
  /** By client: when all that it missed is forgiven. */
  readonly #forgivenMs = createLru<string, number>(MAX_CLIENTS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(client: string): void {
    const nowMs = this.#clock.monotonicMs();
    this.#forgivenMs.set(client, Math.max(nowMs, this.#forgivenMs.get(client) ?? nowMs) + MISS_MS);
  }

  areTooMany(client: string): boolean {
    const forgivenMs = this.#forgivenMs.get(client);
    return forgivenMs !== undefined && forgivenMs - this.#clock.monotonicMs() > (MAX_AT_ONCE - 1) * MISS_MS;
  }
}
