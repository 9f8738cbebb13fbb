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
/** Bound of the cache of addresses missing from a filter: a client that knows nearly all sends one filter to many validators. */
const MAX_KNOWN_FILTERS = 16;

interface PeerListQuery {
  /** The responding node and the requesting one: neither is listed. */
  readonly except: readonly NodeID[];
  /** Filter of the addresses that the requesting node knows; undefined if it sent none. */
  readonly knownPeers: BloomFilterMessage | undefined;
  readonly isWanted: (subnetIDs: readonly SubnetID[]) => boolean;
}

interface Entry {
  readonly nodeID: NodeID;
  readonly subnetIDs: readonly SubnetID[];
  readonly claimed: ClaimedAddress;
  readonly gossipID: Uint8Array;
  /** Hash for the salt of the last request: a client sends the same salt to 2,000 validators. */
  salted: { readonly salt: string; readonly hash: bigint } | undefined;
}

/**
 * Signed addresses of the running validators. All nodes share one pool, because each is connected to all others and knows the same
 * addresses.
 */
export class GossipPool {
  readonly #random: Random;
  readonly #entries = new Map<NodeID, Entry>();
  /** Entries in the order that the last pick left. */
  #order: Entry[] = [];
  readonly #unknownTo = new LRUCache<string, readonly Entry[]>({ max: MAX_KNOWN_FILTERS });

  constructor(random: Random) {
    this.#random = random;
  }

  /** @param subnetIDs subnets that the node validates */
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
   * At most {@link MAX_PEER_LIST_LENGTH} addresses, chosen at random among those that the requesting node wants and does not know.
   *
   * @throws {ParseError} if a node would disconnect a peer with this filter
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
   * Yields the entries that are not in the filter. A complete walk is cached: a client that connects to 2,000 validators queries most of
   * them when it already knows nearly all others, and each query would test 2,000 addresses.
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
