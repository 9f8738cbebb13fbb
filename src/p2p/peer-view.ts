import type { NodeVersion } from './connection/handshake.ts';
import type { CloseCause } from './connection/peer.ts';
import type { Endpoint } from './discovery/address-book.ts';

/** What is known of a node, connected or not. */
export interface PeerView {
  /** Undefined while requests can be sent to it. */
  readonly obstacle: Obstacle | undefined;
  /** The newest that the node itself has signed, as peers pass it on to everybody. No other is told. */
  readonly address: Endpoint | undefined;
  /** What its handshake said, of a connected node. */
  readonly client: { readonly name: string; readonly version: NodeVersion } | undefined;
}

/** Why requests cannot be sent to a node: a cause as a label, and words for people. */
export interface Obstacle {
  readonly cause: ObstacleCause;
  readonly reason: string;
}

/** That the peer network itself closed a connection for good is no obstacle. */
export const OBSTACLE_CAUSES = [
  // How its last connection ended.
  'unreachable',
  'tls',
  'wrong_node',
  'not_admitted',
  'handshake',
  'protocol',
  'silent',
  'lost',
  'unwanted',
  'superseded',
  'shutdown',
  // It is being dialled, or will be in a moment.
  'connecting',
  'own_node',
  'no_address',
  'private_address',
  // Nobody can be dialled before the API node has told its version.
  'version_unknown',
  // As many connections are open as there may be.
  'no_room',
] as const;
export type ObstacleCause = (typeof OBSTACLE_CAUSES)[number];

export interface ObstacleFacts {
  readonly isReady: boolean;
  /** The node is ourselves. */
  readonly isSelf: boolean;
  /** How its last connection ended, where it has not been ready since. */
  readonly lastEnd: { readonly cause: CloseCause; readonly reason: string } | undefined;
  readonly isOpen: boolean;
  /** Whether it has an address, and whether one that may be dialled. */
  readonly isKnown: boolean;
  readonly mayBeDialled: boolean;
  /** Of the network, for our handshake. */
  readonly version: { readonly current: NodeVersion | undefined; readonly failure: string | undefined };
  readonly isFull: boolean;
}

/** Undefined where requests can be sent to the node. */
export function findObstacle(facts: ObstacleFacts): Obstacle | undefined {
  if (facts.isReady) return undefined;
  if (facts.isSelf) return { cause: 'own_node', reason: 'this is our own NodeID' };
  if (facts.lastEnd !== undefined) return facts.lastEnd;
  if (facts.isOpen) return { cause: 'connecting', reason: 'still connecting' };
  if (!facts.isKnown) return { cause: 'no_address', reason: 'no address known' };
  if (!facts.mayBeDialled) return { cause: 'private_address', reason: 'its address is private' };
  if (facts.version.current === undefined) {
    const why = facts.version.failure ?? 'still asking';
    return { cause: 'version_unknown', reason: `the node version of the network is not known: ${why}` };
  }
  if (facts.isFull) return { cause: 'no_room', reason: 'too many connections' };
  return { cause: 'connecting', reason: 'not dialled yet' };
}
