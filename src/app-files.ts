import type { Config } from './config/settings.ts';
import { MAX_CONNECTIONS } from './http/server/base-server.ts';
import { DEFAULT_DIAL_LIMITS } from './p2p/discovery/dial-schedule.ts';

/** Files beside the connections below: modules, stores, listeners, APIs, upstreams, threads. */
export const OTHER_FILES = 200;
/** A validator of the devnet has a listener and the other end of a connection in this process. */
const FILES_PER_DEVNET_VALIDATOR = 2;

export interface ConnectionLimits {
  /** Of clients, for each listener. */
  readonly maxConnections: number;
  /** To validators, for each network. */
  readonly maxPeerConnections: number;
}

/**
 * Divides the files that the process may open, so that no connection fails for want of one: at the limit the system resets new
 * connections, however long others have been idle. Half is for clients, and what they leave is for validators.
 *
 * @param fileLimit undefined: there is none
 */
export function connectionLimits(
  fileLimit: number | undefined,
  { networks, server }: Pick<Config, 'networks' | 'server'>,
): ConnectionLimits {
  const files = fileLimit ?? Number.POSITIVE_INFINITY;
  const goPorts = networks.flatMap(({ goApi }) => [goApi.apiPort, goApi.metricsPort]);
  const listeners = Math.max(1, goPorts.filter((port) => port !== undefined).length + Number(server.ownApi));
  const validators = networks.reduce((sum, { embedded }) => sum + (embedded?.validators ?? 0), 0);
  const others = Math.min(OTHER_FILES, files / 4) + FILES_PER_DEVNET_VALIDATOR * validators;
  const free = Math.max(0, files - others);
  const maxConnections = atMost(MAX_CONNECTIONS, free / 2 / listeners);
  const forPeers = free - maxConnections * listeners;
  return { maxConnections, maxPeerConnections: atMost(DEFAULT_DIAL_LIMITS.maxConnections, forPeers / networks.length) };
}

function atMost(most: number, share: number): number {
  return Math.max(1, Math.min(most, Math.floor(share)));
}
