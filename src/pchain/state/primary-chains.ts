import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import type { Blockchain, NodeApi } from '../rpc/node-api.ts';

/** IDs of the chains of the primary network by their names. One that the P-Chain does not list is left out. */
export type PrimaryChainIDs = Partial<Record<'P' | 'X' | 'C', BlockchainID>>;

export interface PrimaryChains {
  /** @throws {ApiError}, or the signal's reason */
  find(signal: AbortSignal): Promise<PrimaryChainIDs>;
}

export interface PrimaryChainsOptions {
  readonly api: Pick<NodeApi, 'getBlockchains'>;
  readonly networkID: number;
  readonly clock: Clock;
}

/** Time for which a list without the C-Chain is kept: any visitor of the console may ask for it. */
const INCOMPLETE_MS = 1_000;
const FOR_EVER = Number.POSITIVE_INFINITY;

/** The chains of a public network are known; those of another one are read from the P-Chain, once. */
export function createPrimaryChains({ api, networkID, clock }: PrimaryChainsOptions): PrimaryChains {
  const known = PUBLIC_NETWORKS.find((network) => network.networkID === networkID);
  if (known !== undefined) {
    const chains = { P: P_CHAIN_ID, X: known.xChainID, C: known.cChainID };
    return { find: async () => chains };
  }
  const listed = new FreshCache<'all', PrimaryChainIDs>({
    clock,
    max: 1,
    maxAgeMs: ({ C }) => (C === undefined ? INCOMPLETE_MS : FOR_EVER),
    load: async (_, signal) => chainsIn(await api.getBlockchains(signal)),
  });
  return { find: (signal) => listed.get('all', signal) };
}

function chainsIn(blockchains: readonly Blockchain[]): PrimaryChainIDs {
  const idOf = (wanted: string) =>
    blockchains.find(({ subnetID, name }) => subnetID === PRIMARY_NETWORK_ID && name === wanted)?.blockchainID;
  const [X, C] = [idOf('X-Chain'), idOf('C-Chain')];
  return { P: P_CHAIN_ID, ...(X !== undefined && { X }), ...(C !== undefined && { C }) };
}
