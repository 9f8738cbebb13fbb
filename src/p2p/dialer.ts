import type { Clock, Random } from '../lib/concurrency/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { NodeID } from '../warp/ids.ts';
import { type CreateOwnHandshake, createOwnHandshakes, type OwnHandshake } from './connection/handshake.ts';
import type { OpenPeers } from './connection/open-peers.ts';
import { createVersionWatch, type VersionWatch, type VersionWatchOptions } from './connection/version-watch.ts';
import { type AddressBook, createAddressBook } from './discovery/address-book.ts';
import { type ConnectionEnd, type DialLimits, DialSchedule } from './discovery/dial-schedule.ts';
import { MAX_DIALS_PER_STEP } from './discovery/peer-decisions.ts';
import {
  type ClaimResult,
  createPeerDiscovery,
  type PeerDiscovery,
  type PeerDiscoveryOptions,
} from './discovery/peer-discovery.ts';
import { createWantedNodes, type WantedChange, type WantedNodes } from './discovery/wanted-nodes.ts';
import type { Identity } from './identity/identity.ts';
import type { Obstacle } from './peer-view.ts';
import { isPublicAddress } from './wire/ip-address.ts';

const MAX_KNOWN_ADDRESSES = 20_000;
const GOSSIP_INTERVALS = { minMs: 500, maxMs: 30_000 };
/** The filter only saves bytes in a Handshake. */
const FILTER_MAX_AGE_MS = 60_000;

export interface DialerOptions extends Pick<PeerDiscoveryOptions, 'bootstrapPeers'> {
  readonly identity: Identity;
  readonly networkID: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly nodeVersion: VersionWatchOptions['request'];
  readonly allowPrivateAddresses: boolean;
  readonly limits: DialLimits;
  readonly peers: OpenPeers;
  /** Called when a step may have something to dial. */
  readonly queueStep: () => void;
  readonly onDial: () => void;
  /** Called for each address received from a peer. */
  readonly onClaim: (result: ClaimResult) => void;
}

/** Knows the wanted nodes, their addresses and when each may be dialled, and dials them. */
export class Dialer {
  readonly wanted: WantedNodes;
  readonly book: AddressBook;
  readonly schedule: DialSchedule;
  readonly #options: DialerOptions;
  readonly #discovery: PeerDiscovery;
  readonly #version: VersionWatch;
  readonly #createHandshake: CreateOwnHandshake;

  constructor(options: DialerOptions) {
    const { clock, identity, random, logger, networkID, allowPrivateAddresses, limits, peers } = options;
    this.#options = options;
    this.wanted = createWantedNodes(identity.nodeID);
    this.#createHandshake = createOwnHandshakes({ identity, networkID, clock });
    const isWanted = (nodeID: NodeID): boolean => this.wanted.all.has(nodeID);
    this.book = createAddressBook({
      maxEntries: MAX_KNOWN_ADDRESSES,
      random,
      isWanted,
      mayBeDialled: ({ host }) => allowPrivateAddresses || isPublicAddress(host),
    });
    this.#discovery = createPeerDiscovery({
      ...options,
      book: this.book,
      gossipIntervals: GOSSIP_INTERVALS,
      dialsPerSecond: limits.dialsPerSecond,
      isWanted,
      isSearching: () => !this.wanted.all.isSubsetOf(peers.ready),
      readyPeers: () => [...peers.ready],
      send: (nodeID, payload) => void peers.get(nodeID)?.send(payload),
      onAddress: (nodeID) => this.#onAddress(nodeID),
    });
    this.#version = createVersionWatch({ clock, logger, request: options.nodeVersion, onAnswer: options.queueStep });
    this.schedule = new DialSchedule({
      limits,
      random,
      nowMs: clock.monotonicMs(),
      hasAddress: (nodeID) => nodeID !== identity.nodeID && this.book.endpoints(nodeID).length > 0,
      preferredNodes: () => this.wanted.preferred,
      knownNodes: () => this.book.nodeIDs(),
    });
  }

  get discovery(): Pick<PeerDiscovery, 'bootstrapAgain' | 'onHandshakePeerList' | 'onPeerList'> {
    return this.#discovery;
  }

  onWantedChange({ added, removed }: WantedChange): void {
    const { clock, peers, queueStep } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const nodeID of added) {
      this.schedule.want(nodeID, nowMs);
      if (!peers.ready.has(nodeID)) this.#discovery.searchEagerly();
    }
    for (const nodeID of removed) this.schedule.unwant(nodeID, nowMs);
    queueStep();
  }

  /** Dials the nodes that are due. Returns whether more are. */
  step(nowMs: number): boolean {
    this.#discovery.tick(nowMs);
    this.#version.tick(nowMs);
    if (this.#version.current === undefined) return false;
    const due = this.schedule.takeDue(nowMs);
    for (const nodeID of due) this.#dial(nodeID);
    return due.length >= MAX_DIALS_PER_STEP;
  }

  /** Closes connections that have been unwanted for long enough. */
  closeUnwanted(nowMs: number): void {
    for (const nodeID of this.schedule.dueDisconnects(nowMs)) {
      this.#options.peers.get(nodeID)?.close('unwanted', 'not wanted any more');
    }
  }

  createHandshake(): OwnHandshake {
    const { current } = this.#version;
    // No node is dialled before the version is known.
    if (current === undefined) throw new Error('a handshake needs the node version');
    const nowMs = this.#options.clock.monotonicMs();
    return this.#createHandshake(current, this.book.knownPeers(nowMs, FILTER_MAX_AGE_MS));
  }

  onClosed(nodeID: NodeID, end: ConnectionEnd, wasReady: boolean): void {
    this.schedule.onClosed(nodeID, end, this.#options.clock.monotonicMs());
    this.#discovery.onDisconnected(nodeID);
    // The network may require a newer version.
    if (end.cause === 'handshake' || end.cause === 'version') this.#version.expire();
    if (wasReady && this.wanted.all.has(nodeID)) this.#discovery.searchEagerly();
  }

  /** Returns why requests cannot be sent to a node that is not ready. */
  obstacle(nodeID: NodeID): Obstacle {
    if (nodeID === this.#options.identity.nodeID) return { cause: 'own_node', reason: 'this is our own NodeID' };
    const lastEnd = this.schedule.lastEnd(nodeID);
    if (lastEnd !== undefined) return lastEnd;
    if (this.#options.peers.get(nodeID) !== undefined) return { cause: 'connecting', reason: 'still connecting' };
    if (!this.book.has(nodeID)) return { cause: 'no_address', reason: 'no address known' };
    if (this.book.endpoints(nodeID).length === 0) return { cause: 'private_address', reason: 'its address is private' };
    if (this.#version.current === undefined) {
      return { cause: 'version_unknown', reason: 'the node version of the network was not received yet' };
    }
    if (this.schedule.isFull) return { cause: 'no_room', reason: 'too many connections' };
    return { cause: 'connecting', reason: 'not dialled yet' };
  }

  close(): void {
    this.#discovery.close();
    this.#version.close();
  }

  #dial(nodeID: NodeID): void {
    const endpoints = this.book.endpoints(nodeID);
    // Alternates between the signed and the reported address after failures.
    const endpoint = endpoints[this.schedule.failures(nodeID) % endpoints.length];
    // Only nodes with an address are due.
    if (endpoint === undefined) throw new Error(`${nodeID} is to be dialled without an address`);
    this.#options.peers.dial(nodeID, endpoint);
    this.#options.onDial();
  }

  #onAddress(nodeID: NodeID): void {
    const { clock, peers, queueStep } = this.#options;
    if (!peers.ready.has(nodeID) && this.schedule.onNewAddress(nodeID, clock.monotonicMs())) {
      this.#discovery.searchEagerly();
      const peer = peers.get(nodeID);
      const [best] = this.book.endpoints(nodeID);
      if (peer !== undefined && (peer.endpoint.host !== best?.host || peer.endpoint.port !== best.port)) {
        peer.close('superseded', 'a newer address became known');
      }
    }
    queueStep();
  }
}
