import type { BootstrapPeer } from '../p2p/discovery/peer-discovery.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';

/**
 * Returns the configured peers, the peers of the API node, and the node itself, which does not list itself.
 *
 * @throws the error of the API if there are no peers, so that discovery retries soon
 */
export async function findBootstrapPeers(
  api: Pick<NodeApi, 'getPeers' | 'getNodeID' | 'getNodeIP'>,
  configured: readonly BootstrapPeer[],
  signal: AbortSignal,
): Promise<BootstrapPeer[]> {
  const known = await Promise.allSettled([api.getPeers(signal), ownAddress(api, signal)]);
  signal.throwIfAborted();
  const found = [...configured, ...known.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))];
  const failed = known.find((result) => result.status === 'rejected');
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
