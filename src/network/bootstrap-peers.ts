import type { BootstrapPeer } from '../p2p/discovery/peer-discovery.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';

/**
 * Where discovery starts: the peers set by hand, the API node itself, which does not list itself, and the peers it has.
 *
 * @throws why the API does not answer, where nobody is found for it: so it is asked again within half a minute, and not as seldom as one
 *   that has answered
 */
export async function findBootstrapPeers(
  api: Pick<NodeApi, 'getPeers' | 'getNodeID' | 'getNodeIP'>,
  setByHand: readonly BootstrapPeer[],
  signal: AbortSignal,
): Promise<BootstrapPeer[]> {
  const known = await Promise.allSettled([api.getPeers(signal), ownAddress(api, signal)]);
  signal.throwIfAborted();
  const found = [...setByHand, ...known.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))];
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
