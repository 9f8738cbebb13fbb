import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from './connection/peer.ts';
import { DEFAULT_DIAL_LIMITS, type DialLimits } from './discovery/dial-schedule.ts';

/** Limits of the peer network. */
export interface PeerLimits extends ConnectionLimits, DialLimits {
  readonly maxKnownAddresses: number;
  /** App requests that wait for a response, over all peers. */
  readonly maxPendingRequests: number;
  readonly minGossipIntervalMs: number;
  readonly maxGossipIntervalMs: number;
}

export const DEFAULT_PEER_LIMITS: PeerLimits = {
  ...DEFAULT_CONNECTION_LIMITS,
  ...DEFAULT_DIAL_LIMITS,
  maxKnownAddresses: 20_000,
  // Two fan-outs to all validators, or some hundred to a large L1.
  maxPendingRequests: 32_768,
  minGossipIntervalMs: 500,
  maxGossipIntervalMs: 30_000,
};
