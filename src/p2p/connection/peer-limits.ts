import { DEFAULT_DIAL_LIMITS, type DialLimits } from '../discovery/dial-schedule.ts';
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from './peer.ts';

/** Bounds and times of the peer network. */
export interface PeerLimits extends ConnectionLimits, DialLimits {
  readonly maxKnownAddresses: number;
  /** App requests that wait for an answer, over all peers. */
  readonly maxPendingRequests: number;
  readonly minGossipIntervalMs: number;
  readonly maxGossipIntervalMs: number;
}

export const DEFAULT_PEER_LIMITS: PeerLimits = {
  ...DEFAULT_CONNECTION_LIMITS,
  ...DEFAULT_DIAL_LIMITS,
  maxKnownAddresses: 20_000,
  // Two fan-outs to everybody, or some hundred to a large L1.
  maxPendingRequests: 32_768,
  minGossipIntervalMs: 500,
  maxGossipIntervalMs: 30_000,
};
