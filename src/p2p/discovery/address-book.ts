import type { Random } from '../../lib/concurrency/clock.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { KnownPeers } from '../connection/handshake.ts';
import { addressGossipID } from '../wire/bloom-filter.ts';
import type { Endpoint } from '../wire/ip-address.ts';
import type { NodeAddress } from '../wire/signed-address.ts';
import { KnownPeersFilter } from './known-peers-filter.ts';

interface KnownAddresses {
  /** Newest address that the node has signed. */
  readonly signed?: NodeAddress;
  /** Address from the API node or the configuration, which is verified only by the certificate at the dial. */
  readonly reported?: Endpoint;
  /** Addresses that may be dialled, best first. Cached, because they are read for thousands of nodes several times a second. */
  readonly endpoints: readonly Endpoint[];
}

export interface AddressBookOptions {
  readonly maxEntries: number;
  readonly random: Random;
  readonly isWanted: (nodeID: NodeID) => boolean;
  readonly mayBeDialled: (endpoint: Endpoint) => boolean;
}

const NOWHERE: readonly Endpoint[] = [];

/**
 * Addresses of nodes: the newest signed one, whose signature the caller has verified, and one from the API node or the configuration as
 * an alternative.
 *
 * Bound: `maxEntries`. A full book accepts only wanted nodes, each in place of an unwanted one.
 */
export class AddressBook {
  readonly #entries = new Map<NodeID, KnownAddresses>();
  readonly #gossipIDs = new Map<NodeID, Uint8Array>();
  readonly #filter: KnownPeersFilter;
  readonly #maxEntries: number;
  readonly #isWanted: (nodeID: NodeID) => boolean;
  readonly #mayBeDialled: (endpoint: Endpoint) => boolean;

  constructor(options: AddressBookOptions) {
    this.#filter = new KnownPeersFilter(options.random);
    this.#maxEntries = options.maxEntries;
    this.#isWanted = options.isWanted;
    this.#mayBeDialled = options.mayBeDialled;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(nodeID: NodeID): boolean {
    return this.#entries.has(nodeID);
  }

  /** All nodes with an address, in the order in which they were added. */
  nodeIDs(): Iterable<NodeID> {
    return this.#entries.keys();
  }

  /** Whether an address with this timestamp would be stored, if its signature is valid. */
  isNewer(nodeID: NodeID, timestamp: bigint): boolean {
    const known = this.#entries.get(nodeID)?.signed;
    return known === undefined ? this.#accepts(nodeID) : timestamp > known.timestamp;
  }

  /** Adds an address with a verified signature. Returns whether it is newer. */
  addSigned(nodeID: NodeID, address: NodeAddress): boolean {
    if (!this.isNewer(nodeID, address.timestamp)) return false;
    this.#evictFor(nodeID);
    const { host, port, timestamp } = address;
    this.#set(nodeID, { ...this.#entries.get(nodeID), signed: { host, port, timestamp } });
    const gossipID = addressGossipID(nodeID, timestamp);
    this.#gossipIDs.set(nodeID, gossipID);
    this.#filter.add(gossipID);
    return true;
  }

  /** Adds an address from the API node or the configuration. Returns whether it is new. */
  addReported(nodeID: NodeID, { host, port }: Endpoint): boolean {
    const entry = this.#entries.get(nodeID);
    if (entry?.reported?.host === host && entry.reported.port === port) return false;
    if (entry === undefined && !this.#accepts(nodeID)) return false;
    this.#evictFor(nodeID);
    this.#set(nodeID, { ...entry, reported: { host, port } });
    return true;
  }

  /** Addresses to dial, best first: at most two. */
  endpoints(nodeID: NodeID): readonly Endpoint[] {
    return this.#entries.get(nodeID)?.endpoints ?? NOWHERE;
  }

  signedEndpoint(nodeID: NodeID): Endpoint | undefined {
    const signed = this.#entries.get(nodeID)?.signed;
    return signed && { host: signed.host, port: signed.port };
  }

  /**
   * Returns the filter for Handshake and GetPeerList. One address in a thousand is a false positive, which peers do not send until the
   * next filter, with other seeds.
   */
  knownPeers(nowMs: number, maxAgeMs: number): KnownPeers {
    return this.#filter.encode(this.#gossipIDs, nowMs, maxAgeMs);
  }

  #set(nodeID: NodeID, addresses: Pick<KnownAddresses, 'signed' | 'reported'>): void {
    const { signed, reported } = addresses;
    const isSame = signed !== undefined && reported?.host === signed.host && reported.port === signed.port;
    const endpoints = [signed, isSame ? undefined : reported].filter(
      (endpoint) => endpoint !== undefined && this.#mayBeDialled(endpoint),
    ) as Endpoint[];
    this.#entries.set(nodeID, { ...addresses, endpoints });
  }

  #accepts(nodeID: NodeID): boolean {
    return this.#entries.size < this.#maxEntries || this.#entries.has(nodeID) || this.#isWanted(nodeID);
  }

  #evictFor(nodeID: NodeID): void {
    if (this.#entries.size < this.#maxEntries || this.#entries.has(nodeID)) return;
    for (const other of this.#entries.keys()) {
      if (this.#isWanted(other)) continue;
      this.#entries.delete(other);
      this.#gossipIDs.delete(other);
      return;
    }
  }
}
