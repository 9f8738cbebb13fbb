import type { Random } from '../../lib/concurrency/clock.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { KnownPeers } from '../connection/handshake.ts';
import { addressGossipID } from '../wire/bloom-filter.ts';
import type { Endpoint } from '../wire/ip-address.ts';
import type { NodeAddress } from '../wire/signed-address.ts';
import { createKnownPeersFilter } from './known-peers-filter.ts';

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
export interface AddressBook {
  readonly size: number;
  has(nodeID: NodeID): boolean;
  /** All nodes with an address, in the order in which they were added. */
  nodeIDs(): Iterable<NodeID>;
  /** Whether an address with this timestamp would be stored, if its signature is valid. */
  isNewer(nodeID: NodeID, timestamp: bigint): boolean;
  /** Adds an address with a verified signature. Returns whether it is newer. */
  addSigned(nodeID: NodeID, address: NodeAddress): boolean;
  /** Adds an address from the API node or the configuration. Returns whether it is new. */
  addReported(nodeID: NodeID, endpoint: Endpoint): boolean;
  /** Addresses to dial, best first: at most two. */
  endpoints(nodeID: NodeID): readonly Endpoint[];
  signedEndpoint(nodeID: NodeID): Endpoint | undefined;
  /**
   * Returns the filter for Handshake and GetPeerList. One address in a thousand is a false positive, which peers do not send until the
   * next filter, with other seeds.
   */
  knownPeers(nowMs: number, maxAgeMs: number): KnownPeers;
}

export function createAddressBook({ maxEntries, random, isWanted, mayBeDialled }: AddressBookOptions): AddressBook {
  const entries = new Map<NodeID, KnownAddresses>();
  const gossipIDs = new Map<NodeID, Uint8Array>();
  const filter = createKnownPeersFilter(random);

  function isNewer(nodeID: NodeID, timestamp: bigint): boolean {
    const known = entries.get(nodeID)?.signed;
    return known === undefined ? accepts(nodeID) : timestamp > known.timestamp;
  }

  function addSigned(nodeID: NodeID, address: NodeAddress): boolean {
    if (!isNewer(nodeID, address.timestamp)) return false;
    evictFor(nodeID);
    const { host, port, timestamp } = address;
    set(nodeID, { ...entries.get(nodeID), signed: { host, port, timestamp } });
    const gossipID = addressGossipID(nodeID, timestamp);
    gossipIDs.set(nodeID, gossipID);
    filter.add(gossipID);
    return true;
  }

  function addReported(nodeID: NodeID, { host, port }: Endpoint): boolean {
    const entry = entries.get(nodeID);
    if (entry?.reported?.host === host && entry.reported.port === port) return false;
    if (entry === undefined && !accepts(nodeID)) return false;
    evictFor(nodeID);
    set(nodeID, { ...entry, reported: { host, port } });
    return true;
  }

  function set(nodeID: NodeID, addresses: Pick<KnownAddresses, 'signed' | 'reported'>): void {
    const { signed, reported } = addresses;
    const isSame = signed !== undefined && reported?.host === signed.host && reported.port === signed.port;
    const endpoints = [signed, isSame ? undefined : reported].filter(
      (endpoint) => endpoint !== undefined && mayBeDialled(endpoint),
    ) as Endpoint[];
    entries.set(nodeID, { ...addresses, endpoints });
  }

  function accepts(nodeID: NodeID): boolean {
    return entries.size < maxEntries || entries.has(nodeID) || isWanted(nodeID);
  }

  function evictFor(nodeID: NodeID): void {
    if (entries.size < maxEntries || entries.has(nodeID)) return;
    for (const other of entries.keys()) {
      if (isWanted(other)) continue;
      entries.delete(other);
      gossipIDs.delete(other);
      return;
    }
  }

  return {
    get size() {
      return entries.size;
    },
    has: (nodeID) => entries.has(nodeID),
    nodeIDs: () => entries.keys(),
    isNewer,
    addSigned,
    addReported,
    endpoints: (nodeID) => entries.get(nodeID)?.endpoints ?? NOWHERE,
    signedEndpoint(nodeID) {
      const signed = entries.get(nodeID)?.signed;
      return signed && { host: signed.host, port: signed.port };
    },
    knownPeers: (nowMs, maxAgeMs) => filter.encode(gossipIDs, nowMs, maxAgeMs),
  };
}
