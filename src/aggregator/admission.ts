import { LRUCache } from 'lru-cache';
import type { BlsService } from '../bls/aggregation.ts';
import type { Clock } from '../primitives/clock.ts';
import type { SubnetID } from '../primitives/ids.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import { CapacityLimit, type WaitingPlace } from './capacity-limit.ts';
import { FairSeats, type Seat, type SeatRefusal, type SeatShares } from './fair-seats.ts';

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'admissionRefusals' | 'showAdmission'>;
  /** The most aggregations under way, however much the machine could do. */
  readonly maxAggregationsInFlight: number;
}

export interface AdmissionRequest {
  /** Equal for equal requests, which take one place together. */
  readonly key: string;
  /** Whoever asks, for its share; undefined where nobody said. */
  readonly client: string | undefined;
  /** Whose validators will be asked, where that is known without asking the P-Chain. */
  readonly subnetID: SubnetID | undefined;
}

/** A request's right to be worked on, until it is disposed of. */
export interface Place extends Disposable {
  /** Says whose validators will be asked, as soon as that is known. @throws {AggregatorError} `overloaded` */
  belongTo(subnetID: SubnetID): void;
  /** Before the work that a request with a known answer was expected not to need. @throws {AggregatorError} `overloaded` */
  requireSeat(): void;
}

/**
 * Two thirds of them, which one client alone may have, are more than 16 distinct messages at 2,000 validators: those queue for some
 * seconds on two cores, within the time that a request may take, and must not be refused for it.
 */
const MIN_AGGREGATIONS_IN_FLIGHT = 32;
/** Requests of any kind, those included that wait for an equal one: each holds little, but a crowd of them holds much. */
const HELD_PER_SEAT = 16;
/** Requests whose answers are remembered; a key is a short text, so a few MB. */
const MAX_KNOWN = 20_000;
/** Several times in a window of {@link CapacityLimit}. */
const PROBE_MS = 20;

/**
 * Decides in microseconds whether a request is worked on at all. As many are as the machine can do, see {@link CapacityLimit}; each
 * client and each subnet has a fair share of them, see {@link FairSeats}. Requests that cost nothing more pass without a seat:
 * those equal to one under way, and those that are likely to be answered from memory.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #capacity: CapacityLimit;
  readonly #seats = new FairSeats();
  /** By the key of the request. */
  readonly #shared = new Map<string, SharedSeat>();
  readonly #known = new LRUCache<string, true>({ max: MAX_KNOWN });
  /** Requests that were let in, with a seat or without. */
  #held = 0;
  #seatless = 0;
  #cancelProbe: (() => void) | undefined;

  constructor(options: AdmissionOptions) {
    const { metrics, maxAggregationsInFlight: ceiling } = options;
    this.#options = options;
    this.#capacity = new CapacityLimit({ floor: Math.min(MIN_AGGREGATIONS_IN_FLIGHT, ceiling), ceiling });
    metrics.showAdmission({ limit: () => this.#capacity.limit, admitted: () => this.#seats.taken });
  }

  /** @throws {AggregatorError} `overloaded` */
  enter({ key, client, subnetID }: AdmissionRequest): Place {
    const { maxAggregationsInFlight } = this.#options;
    if (this.#held >= HELD_PER_SEAT * maxAggregationsInFlight) throw this.#refuse('held', this.#held);
    let subnet: string | undefined = subnetID;
    let shared: SharedSeat | undefined;
    // A known answer takes no more than a look at the height; while that hangs, no more wait for it than may work.
    if (!this.#known.has(key) || this.#shared.has(key)) shared = this.#takeSeat(key, { client, subnet });
    else if (this.#seatless >= maxAggregationsInFlight) throw this.#refuse('held', this.#seatless);
    else this.#seatless += 1;
    this.#held += 1;
    let isOver = false;
    return {
      belongTo: (found) => {
        subnet = found;
        if (shared !== undefined) this.#move(shared, found);
      },
      requireSeat: () => {
        if (shared !== undefined) return;
        shared = this.#takeSeat(key, { client, subnet });
        this.#seatless -= 1;
      },
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#held -= 1;
        if (shared === undefined) this.#seatless -= 1;
        else this.#leave(key, shared);
      },
    };
  }

  /** Says that the answer to such a request is in memory. */
  remember(key: string): void {
    this.#known.set(key, true);
  }

  /** The same service, whose waits are watched. */
  watch(bls: BlsService): BlsService {
    const timed = async <T>(place: WaitingPlace, work: Promise<T>): Promise<T> => {
      const { clock } = this.#options;
      const startMs = clock.monotonicMs();
      const result = await work;
      this.#observe(place, clock.monotonicMs() - startMs);
      return result;
    };
    return {
      startAggregation(message, signal) {
        const sum = bls.startAggregation(message, signal);
        return {
          add: (signer, signature) => timed('bls_add', sum.add(signer, signature)),
          aggregate: () => timed('bls_aggregate', sum.aggregate()),
          verifyAlone: (signer, signature) => sum.verifyAlone(signer, signature),
          verify: (signed, checked) => sum.verify(signed, checked),
          findBadSigners: (searching) => sum.findBadSigners(searching),
          remove: (index) => sum.remove(index),
          [Symbol.dispose]: () => sum[Symbol.dispose](),
        };
      },
      verifySigned: (signed, signal) => bls.verifySigned(signed, signal),
    };
  }

  #takeSeat(key: string, shares: SeatShares): SharedSeat {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const seat = this.#seats.take(this.#capacity.limit, this.#options.maxAggregationsInFlight, shares);
      if (typeof seat === 'string') throw this.#refuse(seat, this.#seats.taken);
      shared = { seat, holders: 0 };
      this.#shared.set(key, shared);
      this.#probe();
    }
    shared.holders += 1;
    return shared;
  }

  #move({ seat }: SharedSeat, subnetID: SubnetID): void {
    const refusal = this.#seats.move(this.#capacity.limit, this.#options.maxAggregationsInFlight, seat, subnetID);
    if (refusal !== undefined) throw this.#refuse(refusal, this.#seats.taken);
  }

  #leave(key: string, shared: SharedSeat): void {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    this.#shared.delete(key);
    this.#seats.release(shared.seat);
    if (this.#seats.taken > 0) return;
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
  }

  /** Watches the event loop as long as there is work. */
  #probe(): void {
    if (this.#cancelProbe !== undefined) return;
    const { clock } = this.#options;
    const dueMs = clock.monotonicMs() + PROBE_MS;
    this.#cancelProbe = clock.after(PROBE_MS, () => {
      this.#cancelProbe = undefined;
      this.#observe('event_loop', clock.monotonicMs() - dueMs);
      this.#probe();
    });
  }

  #observe(place: WaitingPlace, waitMs: number): void {
    this.#capacity.observe(place, waitMs, this.#options.clock.monotonicMs(), this.#seats.taken);
  }

  #refuse(reason: SeatRefusal | 'held', count: number): AggregatorError {
    this.#options.metrics.admissionRefusals.inc({ reason });
    return new AggregatorError('overloaded', REFUSALS[reason](count));
  }
}

const REFUSALS: Readonly<Record<SeatRefusal | 'held', (count: number) => string>> = {
  full: (count) => `${count} aggregations are under way, which is all this service takes at once`,
  client: () => 'too many aggregations of this client are under way: the rest is kept for others',
  subnet: () => 'too many aggregations for this subnet are under way: the rest is kept for others',
  unresolved: () => 'too many requests for chains that have to be looked up first are under way',
  held: (count) => `${count} requests wait for their answers, which is all this service holds at once`,
};

/** Of equal requests. It counts for the client that came first. */
interface SharedSeat {
  readonly seat: Seat;
  holders: number;
}
