import type { BlsService } from '../bls/aggregation.ts';
import type { Clock } from '../primitives/clock.ts';
import { addTo } from '../primitives/counts.ts';
import type { BlockchainID, SubnetID } from '../primitives/ids.ts';
import { createLru } from '../primitives/lru.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import { CapacityLimit, type WaitingPlace } from './capacity-limit.ts';
import { clientShare, FairSeats, type Seat, type SeatRefusal, type SeatShares } from './fair-seats.ts';
import { type Credit, RefusalCredit } from './refusal-credit.ts';
import type { SubnetPolicy } from './subnet-policy.ts';
import { VainWork } from './vain-work.ts';
import { type Turn, WorkTurns } from './work-turns.ts';

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'admissionRefusals' | 'showAdmission'>;
  /** The most aggregations under way, however much the machine could do. */
  readonly maxAggregationsInFlight: number;
  readonly subnets: Pick<SubnetPolicy, 'hasTracked' | 'isTracked'>;
  /** The longest that one waits for its turn. */
  readonly turnTimeoutMs: number;
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
  readonly client: string | undefined;
  /** Says whose validators will be asked, as soon as that is known. @throws {AggregatorError} `overloaded` */
  belongTo(subnetID: SubnetID): void;
  /** Says that what had to be looked up does not exist. */
  foundNothing(): void;
  /** Before it waits to have validators asked for a message of the chain. @throws {AggregatorError} `overloaded` */
  requireCredit(sourceChainID: BlockchainID): void;
  /** Before it waits for its turn. @param refusals by validators, as are to be expected if nobody signs @throws {AggregatorError} `overloaded` */
  takeCredit(sourceChainID: BlockchainID, refusals: number): Credit;
  /** Before the work that a request with a known answer was expected not to need. @throws {AggregatorError} `overloaded` */
  requireSeat(): void;
  /** Waits until it may work on signatures. @throws {AggregatorError} `overloaded`, or the signal's reason */
  turn(signal: AbortSignal): Promise<Turn>;
}

/** One for the client that has most to do, one for whoever comes next, who gets half of the machine. */
const MIN_AT_WORK = 2;
/** Until more is known; some seconds of work for the quickest machine would show nothing that these do not. */
const START_AT_WORK = 8;
/** As each waits in turn, the last one waits for about so many times the time that one takes. */
const SEATS_PER_TURN = 8;
/**
 * Two thirds of them, which one client alone may have, are more than 16 distinct messages at 2,000 validators: those queue for some
 * seconds on two cores, within the time that a request may take, and must not be refused for it.
 */
const MIN_SEATS = 32;
/** Requests of any kind, those included that wait for an equal one: each holds little, but a crowd of them holds much. */
const HELD_PER_SEAT = 16;
/**
 * Of everything that is bounded here, where the operator tracks subnets: strangers' subnets never get it. A quarter keeps the
 * operator's own going at a fraction of the load that the machine can take, and leaves others most of it.
 */
const TRACKED_SHARE = 0.25;
/** Requests whose answers are remembered. Each is a short text: 4.4 MB with their table, which V8 doubles when 32,768 have come. */
const MAX_KNOWN = 20_000;
/**
 * Lookups that find nothing. At once, as whoever watches some chains or transactions that are about to appear asks for them again and again. One
 * takes about a millisecond of this machine, and as much of the API's: a few percent of one core.
 */
const MISSED = { atOnce: 64, perSecond: 32 };
/** Several times in a window of {@link CapacityLimit}. */
const PROBE_MS = 20;

/**
 * Decides in microseconds whether a request is worked on at all. As many work at a time as the machine can do, see
 * {@link CapacityLimit}, and some times as many wait for their turn, see {@link WorkTurns}; each client and each subnet has a fair
 * share of the seats, see {@link FairSeats}. Requests that cost nothing more pass without a seat:
 * those equal to one under way, and those that are likely to be answered from memory.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #capacity: CapacityLimit;
  readonly #turns: WorkTurns;
  readonly #seats: FairSeats;
  /** Lookups that found nothing, by client. */
  readonly #missed: VainWork;
  readonly #credit: RefusalCredit;
  /** By the key of the request. */
  readonly #shared = new Map<string, SharedSeat>();
  readonly #known = createLru<string, true>(MAX_KNOWN);
  /** Requests that were let in, with a seat or without. */
  readonly #held = new Waiters();
  readonly #seatless = new Waiters();
  #cancelProbe: (() => void) | undefined;

  constructor(options: AdmissionOptions) {
    const { clock, metrics, maxAggregationsInFlight: ceiling, turnTimeoutMs } = options;
    this.#options = options;
    this.#missed = new VainWork(clock, MISSED);
    this.#credit = new RefusalCredit(clock, () => this.#refuse('refused', 0));
    this.#seats = new FairSeats(() => this.#trackedShare());
    this.#capacity = new CapacityLimit({
      floor: Math.min(MIN_AT_WORK, ceiling),
      ceiling,
      start: Math.min(START_AT_WORK, ceiling),
    });
    this.#turns = new WorkTurns({
      clock,
      limit: () => this.#capacity.limit,
      timeoutMs: turnTimeoutMs,
      tooLong: () => this.#refuse('late', this.#turns.waiting),
    });
    metrics.showAdmission({
      limit: () => this.#limit,
      admitted: () => this.#seats.taken,
      workLimit: () => this.#capacity.limit,
      atWork: () => this.#turns.taken,
    });
  }

  /** @throws {AggregatorError} `overloaded` */
  enter({ key, client, subnetID }: AdmissionRequest): Place {
    const { maxAggregationsInFlight, subnets } = this.#options;
    const isTracked = subnetID !== undefined && subnets.isTracked(subnetID);
    const who = { client, isTracked };
    const trackedShare = this.#trackedShare();
    const refusal = this.#held.refusalOf(who, HELD_PER_SEAT * maxAggregationsInFlight, trackedShare);
    if (refusal !== undefined) throw this.#refuse(refusal, this.#held.all);
    let subnet = subnetID;
    let shared: SharedSeat | undefined;
    // A known answer takes no more than a look at the height; while that hangs, no more wait for it than may work.
    if (!this.#known.has(key) || this.#shared.has(key)) shared = this.#takeSeat(key, this.#sharesOf(client, subnet));
    else {
      const seatlessRefusal = this.#seatless.refusalOf(who, maxAggregationsInFlight, trackedShare);
      if (seatlessRefusal !== undefined) throw this.#refuse(seatlessRefusal, this.#seatless.all);
      this.#seatless.count(who, 1);
    }
    this.#held.count(who, 1);
    let isOver = false;
    return {
      client,
      belongTo: (found) => {
        subnet = found;
        if (shared !== undefined) this.#move(shared, found);
      },
      foundNothing: () => {
        if (subnet === undefined && client !== undefined) this.#missed.count(client);
      },
      requireCredit: (sourceChainID) => {
        if (client !== undefined) this.#credit.require(client, sourceChainID);
      },
      takeCredit: (sourceChainID, refusals) =>
        client === undefined ? UNLIMITED : this.#credit.take(client, sourceChainID, refusals),
      requireSeat: () => {
        if (shared !== undefined) return;
        shared = this.#takeSeat(key, this.#sharesOf(client, subnet));
        this.#seatless.count(who, -1);
      },
      turn: (signal) => this.#turns.take(client, signal),
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#held.count(who, -1);
        if (shared === undefined) this.#seatless.count(who, -1);
        else this.#leave(key, shared);
      },
    };
  }

  /** Says that the answer to such a request is in memory. */
  remember(key: string): void {
    this.#known.set(key, true);
  }

  /** Of a validator's answer: how much longer it took than that validator's least. */
  answered(excessMs: number): void {
    this.#observe('answers', excessMs);
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
          add: (signer, signature, isLast) => timed('bls_add', sum.add(signer, signature, isLast)),
          aggregate: () => timed('bls_aggregate', sum.aggregate()),
          verifyAlone: (signer, signature) => sum.verifyAlone(signer, signature),
          verify: (signed, checked) => sum.verify(signed, checked),
          findBadSigners: (searching) => sum.findBadSigners(searching),
          remove: (index) => sum.remove(index),
          [Symbol.dispose]: () => sum[Symbol.dispose](),
        };
      },
      hashAhead: (message) => bls.hashAhead(message),
      verifySigned: (signed, signal) => bls.verifySigned(signed, signal),
    };
  }

  #trackedShare(): number {
    return this.#options.subnets.hasTracked ? TRACKED_SHARE : 0;
  }

  /** Seats that there are now. */
  get #limit(): number {
    const { maxAggregationsInFlight } = this.#options;
    return Math.min(maxAggregationsInFlight, Math.max(MIN_SEATS, SEATS_PER_TURN * this.#capacity.limit));
  }

  #sharesOf(client: string | undefined, subnet: SubnetID | undefined): SeatShares {
    return { client, subnet, isTracked: subnet !== undefined && this.#options.subnets.isTracked(subnet) };
  }

  #takeSeat(key: string, shares: SeatShares): SharedSeat {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const { client, subnet } = shares;
      if (subnet === undefined && client !== undefined && this.#missed.usedPart(client) > 1 - 1 / MISSED.atOnce)
        throw this.#refuse('missed', 0);
      const seat = this.#seats.take(this.#limit, this.#options.maxAggregationsInFlight, shares);
      if (typeof seat === 'string') throw this.#refuse(seat, this.#seats.taken);
      shared = { seat, holders: 0 };
      this.#shared.set(key, shared);
      this.#probe();
    }
    shared.holders += 1;
    return shared;
  }

  #move({ seat }: SharedSeat, subnetID: SubnetID): void {
    const { maxAggregationsInFlight, subnets } = this.#options;
    const isTracked = subnets.isTracked(subnetID);
    const refusal = this.#seats.move(this.#limit, maxAggregationsInFlight, seat, subnetID, isTracked);
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
    this.#capacity.observe(place, waitMs, this.#options.clock.monotonicMs(), this.#turns.taken);
    this.#turns.startWaiting();
  }

  #refuse(reason: Refusal, count: number): AggregatorError {
    this.#options.metrics.admissionRefusals.inc({ reason });
    return withoutStack(() => new AggregatorError('overloaded', REFUSALS[reason](count)));
  }
}

/** A flood is refused thousands of times a second, and the stack of calls would take more time than all else of it. */
function withoutStack<T extends Error>(create: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

type Refusal = SeatRefusal | 'missed' | 'refused' | 'held' | 'late';

const REFUSALS: Readonly<Record<Refusal, (count: number) => string>> = {
  full: (count) => `${count} aggregations are under way, which is all this service takes at once`,
  client: () => 'too many aggregations of this client are under way: the rest is kept for others',
  subnet: () => 'too many aggregations for this subnet are under way: the rest is kept for others',
  reserved: () =>
    'too many aggregations for subnets that this service does not track are under way: the rest is kept for its own',
  unresolved: () => 'too many requests for chains that have to be looked up first are under way',
  missed: () => 'too many requests of this client named chains, subnets or transactions that do not exist',
  refused: () => 'validators refused too many messages of this client, which nobody signed',
  late: (count) => `${count} aggregations wait for their turn, and this one has waited too long`,
  held: (count) => `${count} requests wait for their answers, which is all this service holds at once`,
};

/** Whose request it is, and whether it is for a subnet of the operator's own. */
interface Who {
  readonly client: string | undefined;
  readonly isTracked: boolean;
}

/** Requests that were let in. Bound: an entry for each client with one of them. */
class Waiters {
  all = 0;
  /** Those of them that are not for the operator's own subnets. */
  #strangers = 0;
  readonly #byClient = new Map<string, number>();

  /**
   * Why one more may not come in; undefined where it may.
   *
   * @param trackedShare of the room, which no stranger's subnet gets
   */
  refusalOf({ client, isTracked }: Who, most: number, trackedShare: number): 'held' | 'client' | undefined {
    if (this.all >= most) return 'held';
    if (!isTracked && this.#strangers >= most - Math.floor(trackedShare * most)) return 'held';
    const ofClient = client === undefined ? 0 : (this.#byClient.get(client) ?? 0);
    return ofClient >= clientShare(most - this.all) ? 'client' : undefined;
  }

  count({ client, isTracked }: Who, by: 1 | -1): void {
    this.all += by;
    if (!isTracked) this.#strangers += by;
    if (client !== undefined) addTo(this.#byClient, client, by);
  }
}

/** Of equal requests. It counts for the client that came first. */
interface SharedSeat {
  readonly seat: Seat;
  holders: number;
}

/** Of those who did not say who they are. */
const UNLIMITED: Credit = { begin: () => undefined, settle: () => undefined, [Symbol.dispose]: () => undefined };
