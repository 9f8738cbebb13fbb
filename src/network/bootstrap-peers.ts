import type { BootstrapPeer } from '../p2p/peer-discovery.ts';
import type { NodeApi } from '../pchain/node-api.ts';

/** Where discovery starts: the peers set by hand, the API node itself, which does not list itself, and the peers it has. */
export async function findBootstrapPeers(
  api: Pick<NodeApi, 'getPeers' | 'getNodeID' | 'getNodeIP'>,
  setByHand: readonly BootstrapPeer[],
  signal: AbortSignal,
): Promise<BootstrapPeer[]> {
  const known = await Promise.allSettled([api.getPeers(signal), ownAddress(api, signal)]);
  signal.throwIfAborted();
  return [...setByHand, ...known.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))];
}

async function ownAddress(
  api: Pick<NodeApi, 'getNodeID' | 'getNodeIP'>,
  signal: AbortSignal,
): Promise<readonly BootstrapPeer[]> {
  const [nodeID, address] = await Promise.all([api.getNodeID(signal), api.getNodeIP(signal)]);
  return [{ nodeID, ...address }];
}
