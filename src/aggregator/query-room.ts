import type { Clock } from '../primitives/clock.ts';
import { addTo } from '../primitives/counts.ts';
import { FairLine } from '../primitives/fair-line.ts';

/** What has more bytes is bounded by its bytes; of the rest, even `maxQueries` together have no more than some MiB. */
export const LARGE_QUERY_BYTES = 4 * 1024;
/**
 * Bytes of large queries that wait for answers, over all requests. A copy of each may wait in the socket of a validator that
 * does not read. 16 MiB are 80 validators with messages of 200 KB at a time: round after round, 1,000 of them have been sent
 * such a message within a second.
 */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;

/**
 * Queries that begin in one turn of the event loop, over all requests. To encrypt and send one takes some 30 µs: with all that a few
 * collections of 2,000 validators would send at once, whoever else waits for the event loop would wait 100 ms.
 */
export const MAX_STARTED_A_TURN = 32;
/** Of them, what large ones that wait may have before the small ones: else they would wait as long as small ones keep coming. */
const LARGE_STARTED_FIRST = 8;

export interface QueryRoomOptions {
  readonly clock: Pick<Clock, 'afterTurn'>;
  readonly maxQueries: number;
  readonly maxLargeBytes?: number;
}

/**
 * No client has more than so many times the room that is free: two thirds where it is alone. One whose validators keep silent holds its room
 * for seconds, and what others ask is answered in milliseconds, as long as there is some left.
 */
const CLIENT_SHARE_OF_FREE = 2;

interface Lane {
  readonly max: number;
  taken: number;
  /** Of each client that has some. */
  readonly ofClients: Map<string, number>;
  /** Undefined is all who did not say who they are. */
  readonly waiting: FairLine<string | undefined, Waiting>;
}

interface Waiting {
  readonly cost: number;
  readonly query: () => Promise<unknown>;
}

/**
 * Bounds the queries that are under way over all requests: their number, the bytes of large ones, and how many begin in
 * one turn of the event loop. Queries for which there is no room wait: those of one client in the order of coming, and the clients take turns,
 * so that one whose validators keep silent holds up the others for one query and not for thousands, nor takes all room. Large ones wait in a line of their own,
 * so that a flood of them does not hold up the small ones, which nearly all good ones are.
 */
export class QueryRoom {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  readonly #small: Lane;
  readonly #large: Lane;
  /** In this turn. */
  #started = 0;

  constructor({ clock, maxQueries, maxLargeBytes = MAX_LARGE_BYTES }: QueryRoomOptions) {
    this.#clock = clock;
    this.#small = emptyLane(maxQueries);
    this.#large = emptyLane(maxLargeBytes);
  }

  /** What of the room is taken now, and how many queries wait for some. */
  usage() {
    const [small, large] = [this.#small, this.#large];
    return {
      queries: { used: small.taken, limit: small.max, waiting: small.waiting.size },
      largeBytes: { used: large.taken, limit: large.max, waiting: large.waiting.size },
    };
  }

  /** Queries that have room or wait for it; 0 after the work is done. */
  get size(): number {
    const [small, large] = [this.#small, this.#large];
    return small.taken + small.waiting.size + large.waiting.size + Math.sign(large.taken);
  }

  /** Runs the query as soon as there is room: at once, before this returns, where there is some in this turn. */
  run<T>(bytes: number, query: () => Promise<T>, client?: string): Promise<T> {
    return new Promise((resolve, reject) => this.start(bytes, () => query().then(resolve, reject), client));
  }

  /** As {@link run}, for a query that deals with its end itself, and with its failure: of thousands each has less to keep so. */
  start(bytes: number, query: () => Promise<unknown>, client?: string): void {
    const lane = bytes > LARGE_QUERY_BYTES ? this.#large : this.#small;
    // One that is larger than all the room goes alone.
    const cost = lane === this.#small ? 1 : Math.min(bytes, lane.max);
    lane.waiting.push(client, { cost, query });
    this.#startWaiting(lane);
  }

  #startWaiting(lane: Lane, mostInTurn = MAX_STARTED_A_TURN): void {
    for (;;) {
      const next = lane.waiting.nextOf((client, { cost }) => hasShareFor(lane, client, cost));
      if (next === undefined) return;
      const { client, item } = next;
      if (lane.taken + item.cost > lane.max || this.#started >= mostInTurn) return;
      lane.waiting.shiftOf(client);
      this.#count();
      take(lane, client, item.cost);
      const leave = (): void => {
        take(lane, client, -item.cost);
        this.#startWaiting(lane);
      };
      item.query().then(leave, leave);
    }
  }

  #count(): void {
    this.#started += 1;
    if (this.#started > 1) return;
    this.#clock.afterTurn(() => {
      this.#started = 0;
      this.#startWaiting(this.#large, LARGE_STARTED_FIRST);
      this.#startWaiting(this.#small);
      this.#startWaiting(this.#large);
    });
  }
}

function emptyLane(max: number): Lane {
  return { max, taken: 0, ofClients: new Map(), waiting: new FairLine() };
}

function hasShareFor({ max, taken, ofClients }: Lane, client: string | undefined, cost: number): boolean {
  const ofClient = client === undefined ? 0 : (ofClients.get(client) ?? 0);
  return ofClient === 0 || ofClient + cost <= CLIENT_SHARE_OF_FREE * (max - taken - cost);
}

function take(lane: Lane, client: string | undefined, cost: number): void {
  lane.taken += cost;
  if (client !== undefined) addTo(lane.ofClients, client, cost);
}
