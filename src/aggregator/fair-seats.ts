import { addTo } from '../primitives/counts.ts';

/** Whom a seat counts for. */
export interface SeatShares {
  /** Whoever asks; undefined where nobody said. */
  readonly client: string | undefined;
  /** Whose validators will be asked; undefined while that has to be looked up. */
  readonly subnet: string | undefined;
  /** Whether that subnet is one of the operator's own. What has to be looked up first is taken for a stranger's. */
  readonly isTracked?: boolean;
}

/**
 * Why there is no seat: all are taken, or too many by the same client, for the same subnet, or for what has to be looked up; or
 * what is free is kept for the operator's own subnets.
 */
export type SeatRefusal = 'full' | 'client' | 'subnet' | 'unresolved' | 'reserved';

/** One aggregation's right to be under way. */
export interface Seat {
  readonly client: string | undefined;
  readonly subnet: string | undefined;
  readonly isTracked: boolean;
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
  readonly #trackedShare: () => number;
  readonly #taken = new Set<MutableSeat>();
  readonly #byClient = new Map<string, number>();
  /** Of first seats. */
  readonly #first: Lane = { taken: 0, tracked: 0, bySubnet: new Map() };
  readonly #further: Lane = { taken: 0, tracked: 0, bySubnet: new Map() };

  /**
   * @param trackedShare of the seats, from 0 to 1, which no stranger's subnet gets: however many there are, and whoever asks for
   *   them, the operator's own find room in it. They may have more than that where it is free
   */
  constructor(trackedShare = () => 0) {
    this.#trackedShare = trackedShare;
  }

  /** Seats taken now. */
  get taken(): number {
    return this.#taken.size;
  }

  /**
   * @param limit seats that there are now in each lane; there may be more taken, from when there were more
   * @param most that there are ever in all
   */
  take(limit: number, most: number, { client, subnet, isTracked = false }: SeatShares): Seat | SeatRefusal {
    const ofClient = client === undefined ? 0 : (this.#byClient.get(client) ?? 0);
    const isFirst = client !== undefined && ofClient < FIRST_SEATS;
    const lane = this.#lane(isFirst);
    const free = this.#free(limit, most, isFirst, isTracked);
    if (free < 1) return this.#free(limit, most, isFirst, true) < 1 ? 'full' : 'reserved';
    if (ofClient >= clientShare(free)) return 'client';
    const refusal = subnetRefusal(free, lane, subnet);
    if (refusal !== undefined) return refusal;
    const seat: MutableSeat = { client, subnet, isTracked, isFirst };
    this.#taken.add(seat);
    if (client !== undefined) addTo(this.#byClient, client, 1);
    count(lane, seat, 1);
    return seat;
  }

  /** Counts a seat for the subnet that was found. Where it is refused, the seat stays as it was. */
  move(limit: number, most: number, seat: Seat, subnet: string, isTracked = false): SeatRefusal | undefined {
    const own = this.#own(seat);
    if (own.subnet === subnet) return undefined;
    const lane = this.#lane(own.isFirst);
    // Its own seat is free for it, and the limit may have fallen since it was let in.
    const free = Math.max(1, this.#free(limit, most, own.isFirst, isTracked) + 1);
    const refusal = subnetRefusal(free, lane, subnet);
    if (refusal !== undefined) return refusal;
    count(lane, own, -1);
    own.subnet = subnet;
    own.isTracked = isTracked;
    count(lane, own, 1);
    return undefined;
  }

  release(seat: Seat): void {
    const own = this.#own(seat);
    this.#taken.delete(own);
    if (own.client !== undefined) addTo(this.#byClient, own.client, -1);
    count(this.#lane(own.isFirst), own, -1);
  }

  /** For whoever comes now: seats of the lane, less those that are kept for others. */
  #free(limit: number, most: number, isFirst: boolean, isTracked: boolean): number {
    const all = { taken: this.taken, tracked: this.#first.tracked + this.#further.tracked };
    const { taken, tracked } = isFirst ? this.#first : all;
    const left = most - all.taken;
    const reserved = this.#reserved(limit);
    // What strangers still have from when the limit was higher does not take the operator's own share.
    if (isTracked) return Math.min(left, Math.max(limit - taken, reserved - tracked));
    return Math.min(
      ...[left, limit - taken, limit - reserved - (taken - tracked)],
      most - this.#reserved(most) - (all.taken - all.tracked),
    );
  }

  #reserved(limit: number): number {
    return Math.floor(this.#trackedShare() * limit);
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
  /** Of them, those of the operator's own subnets. */
  tracked: number;
  readonly bySubnet: Map<string | undefined, number>;
}

function subnetRefusal(free: number, { bySubnet }: Lane, subnet: string | undefined): SeatRefusal | undefined {
  const held = bySubnet.get(subnet) ?? 0;
  if (subnet === undefined) return held >= share(free, UNRESOLVED_SHARE_OF_FREE) ? 'unresolved' : undefined;
  return held >= share(free, SUBNET_SHARE_OF_FREE) ? 'subnet' : undefined;
}

interface MutableSeat extends Seat {
  subnet: string | undefined;
  isTracked: boolean;
}

function count(lane: Lane, { subnet, isTracked }: Seat, by: 1 | -1): void {
  lane.taken += by;
  if (isTracked) lane.tracked += by;
  addTo(lane.bySubnet, subnet, by);
}

/** What one client may have where so much is free. */
export function clientShare(free: number): number {
  return share(free, CLIENT_SHARE_OF_FREE);
}

function share(free: number, factor: number): number {
  return Math.max(MIN_SHARE, factor * free);
}
