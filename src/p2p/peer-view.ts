import type { NodeVersion } from './connection/handshake.ts';
import { CLOSE_CAUSES } from './connection/peer.ts';
import type { Endpoint } from './wire/ip-address.ts';

export interface PeerView {
  /** Undefined while requests can be sent to the node. */
  readonly obstacle: Obstacle | undefined;
  /** Newest address that the node has signed, which is public because peers pass it on. */
  readonly address: Endpoint | undefined;
  /** Software in the Handshake of a connected node. */
  readonly client:
    | {
        readonly name: string;
        readonly version: NodeVersion;
        /** Clock of the node less ours, at its Handshake. */
        readonly clockOffsetMs: number;
      }
    | undefined;
}

/** Why requests cannot be sent to a node: a label, and a text for people. */
export interface Obstacle {
  readonly cause: ObstacleCause;
  readonly reason: string;
  /** Clock of the node less ours, with the cause `clock`. */
  readonly clockOffsetMs?: number | undefined;
}

export const OBSTACLE_CAUSES = [
  // Causes that ended the last connection.
  ...CLOSE_CAUSES,
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
