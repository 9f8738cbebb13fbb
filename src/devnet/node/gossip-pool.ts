import { hash } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import type { Random } from '../../lib/concurrency/clock.ts';
import { concatBytes } from '../../lib/encoding/bytes.ts';
import { parseKnownPeers } from '../../p2p/connection/handshake.ts';
import type { BloomFilter as BloomFilterMessage, ClaimedIpPortSchema } from '../../p2p/gen/p2p_pb.js';
import { addressGossipID, bloomHash } from '../../p2p/wire/bloom-filter.ts';
import { encodeClaimedIpPort, type SignedAddress } from '../../p2p/wire/signed-address.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';

export type ClaimedAddress = MessageInitShape<typeof ClaimedIpPortSchema>;

/** avalanchego `network-peer-list-num-validator-ips`. */
const MAX_PEER_LIST_LENGTH = 15;
/** Filters whose missing addresses are remembered. A client that knows nearly all of them sends one filter to many validators. */
const MAX_KNOWN_FILTERS = 16;

interface PeerListQuery {
  /** The node that answers and the one that asks: neither is listed. */
  readonly except: readonly NodeID[];
  /** What the asker already knows; undefined for nothing. */
  readonly knownPeers: BloomFilterMessage | undefined;
  readonly isWanted: (subnetIDs: readonly SubnetID[]) => boolean;
}

interface Entry {
  readonly nodeID: NodeID;
  readonly subnetIDs: readonly SubnetID[];
  readonly claimed: ClaimedAddress;
  readonly gossipID: Uint8Array;
  /** The hash for the salt that was asked for last: a client asks 2,000 validators with the same one. */
  salted: { readonly salt: string; readonly hash: bigint } | undefined;
}

/**
 * The addresses of the validators that run, as each of them gossips them. One pool for all: every node of this network is
 * connected to every other, so that all know the same.
 */
export class GossipPool {
  readonly #random: Random;
  readonly #entries = new Map<NodeID, Entry>();
  /** The entries, in an order that picking reshuffles. */
  #order: Entry[] = [];
  readonly #unknownTo = new LRUCache<string, readonly Entry[]>({ max: MAX_KNOWN_FILTERS });

  constructor(random: Random) {
    this.#random = random;
  }

  /** @param subnetIDs those that the node validates */
  set(address: SignedAddress, subnetIDs: readonly SubnetID[]): void {
    this.#entries.set(address.nodeID, {
      nodeID: address.nodeID,
      subnetIDs,
      claimed: encodeClaimedIpPort(address),
      gossipID: addressGossipID(address.nodeID, address.timestamp),
      salted: undefined,
    });
    this.#changed();
  }

  delete(nodeID: NodeID): void {
    if (this.#entries.delete(nodeID)) this.#changed();
  }

  /**
   * At most {@link MAX_PEER_LIST_LENGTH} addresses, chosen at random among those the asker wants and does not know.
   *
   * @throws {ParseError} if a node would disconnect the asker for its filter
   */
  pick({ except, knownPeers, isWanted }: PeerListQuery): ClaimedAddress[] {
    const isPickable = ({ nodeID, subnetIDs }: Entry): boolean => !except.includes(nodeID) && isWanted(subnetIDs);
    const picked: ClaimedAddress[] = [];
    for (const entry of knownPeers === undefined ? this.#shuffled() : this.#unknown(knownPeers)) {
      if (!isPickable(entry)) continue;
      picked.push(entry.claimed);
      if (picked.length === MAX_PEER_LIST_LENGTH) break;
    }
    return picked;
  }

  /**
   * The entries that the filter does not hold. A complete walk is cached: a client that connects to 2,000 validators queries most of them
   * when it already knows nearly all others, and each query would test 2,000 addresses.
   */
  *#unknown(knownPeers: BloomFilterMessage): Generator<Entry> {
    const known = parseKnownPeers(knownPeers);
    const key = hash('sha256', concatBytes(known.salt, knownPeers.filter), 'base64');
    const remembered = this.#unknownTo.get(key);
    if (remembered !== undefined) {
      yield* remembered;
      return;
    }
    const salt = Buffer.from(known.salt).toString('latin1');
    const unknown: Entry[] = [];
    for (const entry of this.#shuffled()) {
      if (entry.salted?.salt !== salt) entry.salted = { salt, hash: bloomHash(entry.gossipID, known.salt) };
      if (known.filter.has(entry.salted.hash)) continue;
      unknown.push(entry);
      yield entry;
    }
    this.#unknownTo.set(key, unknown);
  }

  /** All entries in random order; each step costs one random number. */
  *#shuffled(): Generator<Entry> {
    const order = this.#order;
    for (let index = 0; index < order.length; index += 1) {
      const other = index + Math.floor(this.#random() * (order.length - index));
      const [a, b] = [order[index], order[other]];
      if (a === undefined || b === undefined) throw new RangeError('an index outside the pool');
      order[index] = b;
      order[other] = a;
      yield b;
    }
  }

  #changed(): void {
    this.#order = [...this.#entries.values()];
    this.#unknownTo.clear();
  }
}
