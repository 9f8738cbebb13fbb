/** Whom a seat counts for. */
export interface SeatShares {
  /** Whoever asks; undefined where nobody said. */
  readonly client: string | undefined;
  /** Whose validators will be asked; undefined while that has to be looked up. */
  readonly subnet: string | undefined;
}

/** Why there is no seat: all are taken, or too many by the same client, for the same subnet, or for what has to be looked up. */
export type SeatRefusal = 'full' | 'client' | 'subnet' | 'unresolved';

/** One aggregation's right to be under way. */
export interface Seat {
  readonly client: string | undefined;
  readonly subnet: string | undefined;
  /** Whether it is among the first of its client. */
  readonly isFirst: boolean;
}

/**
 * No client has more than so many times the seats that are free. One who takes all there is to get then has two thirds of them,
 * and a third is left to others; of two, each has two fifths, and so on: there is always a free one for somebody new, unless a
 * crowd has taken them all. Nobody has to be counted out beforehand for that, and no seat stands empty for an absent client.
 * (Choudhury and Hahne, "Dynamic queue length thresholds in a shared memory packet switch".)
 */
const CLIENT_SHARE_OF_FREE = 2;
/** Four fifths at most: more than one client gets, so that a flood of one does not shut out the subnet that it floods. */
const SUBNET_SHARE_OF_FREE = 4;
/** Half of them at most: what the P-Chain may not even know must not keep out what it knows. */
const UNRESOLVED_SHARE_OF_FREE = 1;
/** As long as there is a free one, so that small limits can be used to the full. */
const MIN_SHARE = 2;
/**
 * The first seats of each client come from a lane of their own, with as many seats as the limit. So whoever asks for little is
 * not kept out by one who has much, nor by work that was let in before the limit fell and has yet to end. What it costs is measured,
 * and lowers the limit.
 */
export const FIRST_SEATS = 4;

/** A changing number of seats, shared fairly. Pure. Bound: an entry for each client and subnet with a seat. */
export class FairSeats {
  readonly #taken = new Set<MutableSeat>();
  readonly #byClient = new Map<string, number>();
  /** Of first seats. */
  readonly #first: Lane = { taken: 0, bySubnet: new Map() };
  readonly #further: Lane = { taken: 0, bySubnet: new Map() };

  /** Seats taken now. */
  get taken(): number {
    return this.#taken.size;
  }

  /**
   * @param limit seats that there are now in each lane; there may be more taken, from when there were more
   * @param most that there are ever in all
   */
  take(limit: number, most: number, { client, subnet }: SeatShares): Seat | SeatRefusal {
    const ofClient = client === undefined ? 0 : (this.#byClient.get(client) ?? 0);
    const isFirst = client !== undefined && ofClient < FIRST_SEATS;
    const free = this.#free(limit, most, isFirst);
    if (free < 1) return 'full';
    if (ofClient >= share(free, CLIENT_SHARE_OF_FREE)) return 'client';
    const lane = this.#lane(isFirst);
    const refusal = subnetRefusal(free, lane, subnet);
    if (refusal !== undefined) return refusal;
    const seat: MutableSeat = { client, subnet, isFirst };
    this.#taken.add(seat);
    if (client !== undefined) add(this.#byClient, client, 1);
    lane.taken += 1;
    add(lane.bySubnet, subnet, 1);
    return seat;
  }

  /** Counts a seat for the subnet that was found. Where it is refused, the seat stays as it was. */
  move(limit: number, most: number, seat: Seat, subnet: string): SeatRefusal | undefined {
    const own = this.#own(seat);
    if (own.subnet === subnet) return undefined;
    const lane = this.#lane(own.isFirst);
    // Its own seat is free for it, and the limit may have fallen since it was let in.
    const free = Math.max(1, this.#free(limit, most, own.isFirst) + 1);
    const refusal = subnetRefusal(free, lane, subnet);
    if (refusal !== undefined) return refusal;
    add(lane.bySubnet, own.subnet, -1);
    own.subnet = subnet;
    add(lane.bySubnet, subnet, 1);
    return undefined;
  }

  release(seat: Seat): void {
    const own = this.#own(seat);
    const lane = this.#lane(own.isFirst);
    this.#taken.delete(own);
    if (own.client !== undefined) add(this.#byClient, own.client, -1);
    lane.taken -= 1;
    add(lane.bySubnet, own.subnet, -1);
  }

  #free(limit: number, most: number, isFirst: boolean): number {
    return isFirst ? Math.min(limit - this.#first.taken, most - this.taken) : limit - this.taken;
  }

  #lane(isFirst: boolean): Lane {
    return isFirst ? this.#first : this.#further;
  }

  #own(seat: Seat): MutableSeat {
    if (this.#taken.has(seat)) return seat;
    throw new Error('this seat was released before');
  }
}

interface Lane {
  taken: number;
  readonly bySubnet: Map<string | undefined, number>;
}

function subnetRefusal(free: number, { bySubnet }: Lane, subnet: string | undefined): SeatRefusal | undefined {
  const held = bySubnet.get(subnet) ?? 0;
  if (subnet === undefined) return held >= share(free, UNRESOLVED_SHARE_OF_FREE) ? 'unresolved' : undefined;
  return held >= share(free, SUBNET_SHARE_OF_FREE) ? 'subnet' : undefined;
}

interface MutableSeat extends Seat {
  subnet: string | undefined;
}

function share(free: number, factor: number): number {
  return Math.max(MIN_SHARE, factor * free);
}

function add<Key>(counts: Map<Key, number>, key: Key, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
