import type { Clock } from '../../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { Endpoint } from '../wire/ip-address.ts';
import type { Dial } from './dial.ts';
import { type CloseCause, Peer, type PeerEvents, type PeerOptions, type PeerState } from './peer.ts';
import { UnrequestedTime } from './unrequested-time.ts';

/** Messages of all peers before a yield to the event loop. One takes some 30 µs, and hundreds arrive after a pause of this process. */
const MAX_MESSAGES_PER_YIELD = 32;

export interface OpenPeersEvents extends Omit<PeerEvents, 'onClosed'> {
  /** @param wasReady whether requests could be sent to it */
  onClosed(peer: Peer, state: PeerState & { kind: 'closed' }, wasReady: boolean): void;
}

export interface OpenPeersOptions {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly networkID: number;
  readonly maxSendQueueBytes: number;
  /** Called after the connection was added or removed here. */
  readonly events: OpenPeersEvents;
}

/** The connections of one network, each from its dial to its close, and which of them can send requests. */
export class OpenPeers {
  readonly #peers = new Map<NodeID, Peer>();
  readonly #ready = new Set<NodeID>();
  readonly #unrequested = new UnrequestedTime();
  readonly #options: PeerOptions;

  constructor({ events, ...options }: OpenPeersOptions) {
    this.#options = {
      ...options,
      scheduler: new EventLoopScheduler(options.clock, MAX_MESSAGES_PER_YIELD),
      unrequested: this.#unrequested,
      events: {
        createHandshake: () => events.createHandshake(),
        onReady: (peer, handshake, peerList) => {
          this.#ready.add(peer.nodeID);
          events.onReady(peer, handshake, peerList);
        },
        onPeerList: (peer, peerList) => events.onPeerList(peer, peerList),
        onAppResponse: (peer, response) => events.onAppResponse(peer, response),
        onAppError: (peer, error) => events.onAppError(peer, error),
        onClosed: (peer, state) => {
          this.#peers.delete(peer.nodeID);
          events.onClosed(peer, state, this.#ready.delete(peer.nodeID));
        },
        onBytes: (direction, count) => events.onBytes(direction, count),
      },
    };
  }

  /** Nodes to which requests can be sent. */
  get ready(): ReadonlySet<NodeID> {
    return this.#ready;
  }

  get(nodeID: NodeID): Peer | undefined {
    return this.#peers.get(nodeID);
  }

  dial(nodeID: NodeID, endpoint: Endpoint): void {
    this.#peers.set(nodeID, new Peer(nodeID, endpoint, this.#options));
  }

  tick(nowMs: number): void {
    this.#unrequested.tick();
    for (const peer of this.#peers.values()) peer.tick(nowMs);
  }

  closeAll(cause: CloseCause, reason: string): void {
    for (const peer of Array.from(this.#peers.values())) peer.close(cause, reason);
  }
}
