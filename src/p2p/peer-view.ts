import type { NodeVersion } from './connection/handshake.ts';
import type { CloseCause } from './connection/peer.ts';
import type { Endpoint } from './wire/ip-address.ts';

export interface PeerView {
  /** Undefined while requests can be sent to the node. */
  readonly obstacle: Obstacle | undefined;
  /** Newest address that the node has signed, which is public because peers pass it on. */
  readonly address: Endpoint | undefined;
  /** Software in the Handshake of a connected node. */
  readonly client: { readonly name: string; readonly version: NodeVersion } | undefined;
}

/** Why requests cannot be sent to a node: a label, and a text for people. */
export interface Obstacle {
  readonly cause: ObstacleCause;
  readonly reason: string;
}

export const OBSTACLE_CAUSES = [
  // Close causes of the last connection.
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
  // Being dialled, or waiting for a dial.
  'connecting',
  'own_node',
  'no_address',
  'private_address',
  // No node is dialled before the API node has reported its version.
  'version_unknown',
  // The limit of connections is reached.
  'no_room',
] as const;
export type ObstacleCause = (typeof OBSTACLE_CAUSES)[number];

export interface ObstacleFacts {
  readonly isReady: boolean;
  /** The node has our NodeID. */
  readonly isSelf: boolean;
  /** End of the last connection, unless one was ready since. */
  readonly lastEnd: { readonly cause: CloseCause; readonly reason: string } | undefined;
  readonly isOpen: boolean;
  /** Has an address. */
  readonly isKnown: boolean;
  /** Has an address that may be dialled. */
  readonly mayBeDialled: boolean;
  /** Version for our Handshakes. */
  readonly version: { readonly current: NodeVersion | undefined; readonly failure: string | undefined };
  readonly isFull: boolean;
}

export function findObstacle(facts: ObstacleFacts): Obstacle | undefined {
  if (facts.isReady) return undefined;
  if (facts.isSelf) return { cause: 'own_node', reason: 'this is our own NodeID' };
  if (facts.lastEnd !== undefined) return facts.lastEnd;
  if (facts.isOpen) return { cause: 'connecting', reason: 'still connecting' };
  if (!facts.isKnown) return { cause: 'no_address', reason: 'no address known' };
  if (!facts.mayBeDialled) return { cause: 'private_address', reason: 'its address is private' };
  if (facts.version.current === undefined) {
    const why = facts.version.failure ?? 'not received yet';
    return { cause: 'version_unknown', reason: `the node version of the network is not known: ${why}` };
  }
  if (facts.isFull) return { cause: 'no_room', reason: 'too many connections' };
  return { cause: 'connecting', reason: 'not dialled yet' };
}
