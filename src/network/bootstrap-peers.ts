import type { BootstrapPeer } from '../p2p/discovery/peer-discovery.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';

export interface BootstrapSources {
  readonly configured: readonly BootstrapPeer[];
  /** Nodes of a public network to start from; none of another network. */
  readonly beacons: readonly BootstrapPeer[];
  /** Whether no node was connected although bootstrap peers were returned before. */
  readonly isStranded: boolean;
}

/**
 * Returns the configured peers, the peers of the API node, and the node itself, which does not list itself. Beacons are last, and only where
 * the API lists no peers or no node could be connected: a gateway hides peers, and its own node cannot be dialled.
 *
 * @throws the error of the API if there are no peers, so that discovery retries soon
 */
export async function findBootstrapPeers(
  api: Pick<NodeApi, 'getPeers' | 'getNodeID' | 'getNodeIP'>,
  { configured, beacons, isStranded }: BootstrapSources,
  signal: AbortSignal,
): Promise<BootstrapPeer[]> {
  const [listed, own] = await Promise.allSettled([api.getPeers(signal), ownAddress(api, signal)]);
  signal.throwIfAborted();
  const peers = listed.status === 'fulfilled' ? listed.value : [];
  const found = [...configured, ...peers, ...(own.status === 'fulfilled' ? own.value : [])];
  if (peers.length === 0 || isStranded) found.push(...beacons);
  const failed = [listed, own].find((result) => result.status === 'rejected');
  if (found.length === 0 && failed !== undefined) throw failed.reason;
  return found;
}

async function ownAddress(
  api: Pick<NodeApi, 'getNodeID' | 'getNodeIP'>,
  signal: AbortSignal,
): Promise<readonly BootstrapPeer[]> {
  const [nodeID, address] = await Promise.all([api.getNodeID(signal), api.getNodeIP(signal)]);
  return [{ nodeID, ...address }];
}
