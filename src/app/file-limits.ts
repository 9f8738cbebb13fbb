import type { Config } from '../config/settings.ts';
import { MAX_CONNECTIONS } from '../http/server/base-server.ts';
import { readFileLimit } from '../lib/net/file-limit.ts';
import { DEFAULT_DIAL_LIMITS } from '../p2p/discovery/dial-schedule.ts';
import type { Logger } from '../telemetry/logger.ts';

/** Files beside the connections below: modules, stores, listeners, APIs, upstreams, threads. */
const OTHER_FILES = 200;
/** A validator of the devnet has a listener and the other end of a connection in this process. */
const FILES_PER_DEVNET_VALIDATOR = 2;

export interface ConnectionLimits {
  /** Of clients, for each listener. */
  readonly maxConnections: number;
  /** To validators, for each network. */
  readonly maxPeerConnections: number;
}

/** Returns the limits of this process, and warns if they are lower than the service would have them. */
export function limitConnections(config: Divided, logger: Logger, fileLimit = readFileLimit()): ConnectionLimits {
  const limits = connectionLimits(fileLimit, config);
  if (limits.maxConnections < MAX_CONNECTIONS) {
    const text = 'the limit of open files (ulimit -n) allows fewer connections than the service would accept';
    logger.warn({ fileLimit, ...limits }, text);
  }
  return limits;
}

type Divided = Pick<Config, 'devnet' | 'networks' | 'server'>;

/**
 * Divides the files that the process may open, so that no connection fails for want of one: at the limit the system resets new
 * connections, however long others have been idle. Half is for clients, and what they leave is for validators.
 *
 * @param fileLimit undefined: there is none
 */
export function connectionLimits(
  fileLimit: number | undefined,
  { devnet, networks, server }: Divided,
): ConnectionLimits {
  const files = fileLimit ?? Number.POSITIVE_INFINITY;
  const listeners = countListeners({ networks, server });
  const free = Math.max(0, files - Math.min(OTHER_FILES, files / 4) - filesOfDevnet(devnet));
  const maxConnections = atMost(MAX_CONNECTIONS, free / 2 / listeners);
  const forPeers = free - maxConnections * listeners;
  return { maxConnections, maxPeerConnections: atMost(DEFAULT_DIAL_LIMITS.maxConnections, forPeers / networks.length) };
}

/**
 * Returns the least limit with which {@link connectionLimits} has a connection for every validator.
 *
 * @param validators number of those of each network
 */
export function requiredFiles(
  { devnet, networks }: Pick<Divided, 'devnet' | 'networks'>,
  validators: readonly number[],
): number {
  // Half of what is free is for clients.
  return OTHER_FILES + filesOfDevnet(devnet) + 2 * filesOfPeers(networks, validators);
}

/**
 * Returns the least limit with which {@link connectionLimits} holds up neither clients nor validators.
 *
 * @param validators number of those of each network
 */
export function neededFiles({ devnet, networks, server }: Divided, validators: readonly number[]): number {
  const forClients = MAX_CONNECTIONS * countListeners({ networks, server });
  const forPeers = filesOfPeers(networks, validators);
  return OTHER_FILES + filesOfDevnet(devnet) + forClients + Math.max(forClients, forPeers);
}

/** Each network has the same share. */
function filesOfPeers(networks: Divided['networks'], validators: readonly number[]): number {
  return networks.length * Math.min(DEFAULT_DIAL_LIMITS.maxConnections, Math.max(0, ...validators));
}

function countListeners({ networks, server }: Pick<Divided, 'networks' | 'server'>): number {
  const goPorts = networks.flatMap(({ goApi }) => [goApi.apiPort, goApi.metricsPort]);
  return Math.max(1, goPorts.filter((port) => port !== undefined).length + Number(server.ownApi));
}

function filesOfDevnet(devnet: Divided['devnet']): number {
  return FILES_PER_DEVNET_VALIDATOR * (devnet?.validators ?? 0);
}

function atMost(most: number, share: number): number {
  return Math.max(1, Math.min(most, Math.floor(share)));
}
