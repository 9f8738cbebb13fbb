import type { Random } from '../../lib/concurrency/clock.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { KnownPeers } from '../connection/handshake.ts';
import { addressGossipID } from '../wire/bloom-filter.ts';
import type { NodeAddress } from '../wire/signed-address.ts';
import { KnownPeersFilter } from './known-peers-filter.ts';

/** Where to dial. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Entry {
  /** The newest address that the node itself has signed. */
  readonly signed?: NodeAddress;
  /** What the API node or the operator says; nothing vouches for it but the certificate shown there. */
  readonly reported?: Endpoint;
  /** Those that may be dialled, best first: looked at for thousands of nodes several times a second. */
  readonly endpoints: readonly Endpoint[];
}

export interface AddressBookOptions {
  readonly maxEntries: number;
  readonly random: Random;
  readonly isWanted: (nodeID: NodeID) => boolean;
  /** Whether an address may be dialled; the others are known all the same. */
  readonly mayBeDialled: (endpoint: Endpoint) => boolean;
}

const NOWHERE: readonly Endpoint[] = [];

/**
 * Where nodes are to be found. Of signed addresses the newest holds; the caller has verified the signature. An address that
 * the API node or the operator reported is kept beside it, as the second to try.
 *
 * Bound: `maxEntries`. Above it only wanted nodes still get in, and each takes the place of one that is not wanted.
 */
export class AddressBook {
  readonly #entries = new Map<NodeID, Entry>();
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

  /** All nodes with an address, in the order they became known. */
  nodeIDs(): Iterable<NodeID> {
    return this.#entries.keys();
  }

  /** Whether an address of this time would replace what is known: only then is its signature worth verifying. */
  isNews(nodeID: NodeID, timestamp: bigint): boolean {
    const known = this.#entries.get(nodeID)?.signed;
    return known === undefined ? this.#hasRoomFor(nodeID) : timestamp > known.timestamp;
  }

  /** Takes an address whose signature is verified. False where it brings nothing new. */
  addSigned(nodeID: NodeID, address: NodeAddress): boolean {
    if (!this.isNews(nodeID, address.timestamp)) return false;
    this.#makeRoomFor(nodeID);
    const { host, port, timestamp } = address;
    this.#set(nodeID, { ...this.#entries.get(nodeID), signed: { host, port, timestamp } });
    const gossipID = addressGossipID(nodeID, timestamp);
    this.#gossipIDs.set(nodeID, gossipID);
    this.#filter.add(gossipID);
    return true;
  }

  /** Takes an address from the API node or the configuration. False where it was known. */
  addReported(nodeID: NodeID, { host, port }: Endpoint): boolean {
    const entry = this.#entries.get(nodeID);
    if (entry?.reported?.host === host && entry.reported.port === port) return false;
    if (entry === undefined && !this.#hasRoomFor(nodeID)) return false;
    this.#makeRoomFor(nodeID);
    this.#set(nodeID, { ...entry, reported: { host, port } });
    return true;
  }

  /** What to try, best first: at most two, each once. */
  endpoints(nodeID: NodeID): readonly Endpoint[] {
    return this.#entries.get(nodeID)?.endpoints ?? NOWHERE;
  }

  /** The newest address that the node has signed. */
  signedEndpoint(nodeID: NodeID): Endpoint | undefined {
    const signed = this.#entries.get(nodeID)?.signed;
    return signed && { host: signed.host, port: signed.port };
  }

  /**
   * For Handshake and GetPeerList: what peers need not send us. One address in a thousand is held back though we lack it,
   * until a new filter is made, with other seeds.
   */
  knownPeers(nowMs: number, maxAgeMs: number): KnownPeers {
    return this.#filter.encode(this.#gossipIDs, nowMs, maxAgeMs);
  }

  #set(nodeID: NodeID, addresses: Pick<Entry, 'signed' | 'reported'>): void {
    const { signed, reported } = addresses;
    const isSame = signed !== undefined && reported?.host === signed.host && reported.port === signed.port;
    const endpoints = [signed, isSame ? undefined : reported].filter(
      (endpoint) => endpoint !== undefined && this.#mayBeDialled(endpoint),
    ) as Endpoint[];
    this.#entries.set(nodeID, { ...addresses, endpoints });
  }

  #hasRoomFor(nodeID: NodeID): boolean {
    return this.#entries.size < this.#maxEntries || this.#entries.has(nodeID) || this.#isWanted(nodeID);
  }

  #makeRoomFor(nodeID: NodeID): void {
    if (this.#entries.size < this.#maxEntries || this.#entries.has(nodeID)) return;
    for (const other of this.#entries.keys()) {
      if (this.#isWanted(other)) continue;
      this.#entries.delete(other);
      this.#gossipIDs.delete(other);
      return;
    }
  }
}
