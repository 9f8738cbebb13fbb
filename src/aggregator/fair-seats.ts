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
/**
 * A client with next to no seats finds room up to so many times the limit: when the limit has just fallen, all seats are taken until
 * some of them are given back, and that is no fault of such a client. What it costs is measured, and lowers the limit.
 */
const ROOM_FOR_MODEST = 2;
/** As long as there is a free one, so that small limits can be used to the full; who has fewer has next to none. */
const MIN_SHARE = 2;

/** A changing number of seats, shared fairly. Pure. Bound: an entry for each client and subnet with a seat. */
export class FairSeats {
  readonly #taken = new Set<MutableSeat>();
  readonly #byClient = new Map<string, number>();
  readonly #bySubnet = new Map<string | undefined, number>();

  /** Seats taken now. */
  get taken(): number {
    return this.#taken.size;
  }

  /**
   * @param limit seats that there are now; there may be more taken, from when there were more
   * @param most that there are ever
   */
  take(limit: number, most: number, shares: SeatShares): Seat | SeatRefusal {
    const refusal = this.#refusal(limit, most, shares);
    if (refusal !== undefined) return refusal;
    const seat: MutableSeat = { client: shares.client, subnet: shares.subnet };
    this.#taken.add(seat);
    if (seat.client !== undefined) add(this.#byClient, seat.client, 1);
    add(this.#bySubnet, seat.subnet, 1);
    return seat;
  }

  /** Counts a seat for the subnet that was found. Where it is refused, the seat stays as it was. */
  move(limit: number, seat: Seat, subnet: string): SeatRefusal | undefined {
    const own = this.#own(seat);
    if (own.subnet === subnet) return undefined;
    // Its own seat is free for it, and the limit may have fallen since it was let in.
    const free = Math.max(1, limit - this.taken + 1);
    const refusal = this.#subnetRefusal(free, subnet);
    if (refusal !== undefined) return refusal;
    add(this.#bySubnet, own.subnet, -1);
    own.subnet = subnet;
    add(this.#bySubnet, subnet, 1);
    return undefined;
  }

  release(seat: Seat): void {
    const { client, subnet } = this.#own(seat);
    this.#taken.delete(seat);
    if (client !== undefined) add(this.#byClient, client, -1);
    add(this.#bySubnet, subnet, -1);
  }

  #refusal(limit: number, most: number, { client, subnet }: SeatShares): SeatRefusal | undefined {
    const ofClient = client === undefined ? 0 : (this.#byClient.get(client) ?? 0);
    const isModest = client !== undefined && ofClient < MIN_SHARE;
    const free = (isModest ? Math.min(most, ROOM_FOR_MODEST * limit) : limit) - this.taken;
    if (free < 1) return 'full';
    return ofClient >= share(free, CLIENT_SHARE_OF_FREE) ? 'client' : this.#subnetRefusal(free, subnet);
  }

  #subnetRefusal(free: number, subnet: string | undefined): SeatRefusal | undefined {
    const held = this.#bySubnet.get(subnet) ?? 0;
    if (subnet === undefined) return held >= share(free, UNRESOLVED_SHARE_OF_FREE) ? 'unresolved' : undefined;
    return held >= share(free, SUBNET_SHARE_OF_FREE) ? 'subnet' : undefined;
  }

  #own(seat: Seat): MutableSeat {
    if (this.#taken.has(seat)) return seat;
    throw new Error('this seat was released before');
  }
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
