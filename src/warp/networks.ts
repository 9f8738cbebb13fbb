import { type BlockchainID, P_CHAIN_ID } from './ids.ts';

export interface PublicNetwork {
  readonly name: 'mainnet' | 'fuji';
  readonly aliases: readonly string[];
  readonly networkID: number;
  readonly xChainID: BlockchainID;
  readonly cChainID: BlockchainID;
  /** The EVM chain ID of its C-Chain, in decimal. */
  readonly evmChainID: string;
  /** When L1s began, with the Etna upgrade (avalanchego `upgrade/upgrade.go`), in Unix seconds. */
  readonly l1StartTime: bigint;
}

export const MAINNET: PublicNetwork = {
  name: 'mainnet',
  aliases: [],
  networkID: 1,
  xChainID: '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM' as BlockchainID,
  cChainID: '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5' as BlockchainID,
  evmChainID: '43114',
  l1StartTime: BigInt(Date.UTC(2024, 11, 16, 17) / 1_000),
};

export const FUJI: PublicNetwork = {
  name: 'fuji',
  aliases: ['testnet'],
  networkID: 5,
  xChainID: '2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm' as BlockchainID,
  cChainID: 'yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp' as BlockchainID,
  evmChainID: '43113',
  l1StartTime: BigInt(Date.UTC(2024, 10, 25, 16) / 1_000),
};

export const PUBLIC_NETWORKS: readonly PublicNetwork[] = [MAINNET, FUJI];

export function publicNetworkNamed(name: string): PublicNetwork | undefined {
  return PUBLIC_NETWORKS.find((network) => network.name === name || network.aliases.includes(name));
}

/** Names a network for people: `fuji`, or `network 12345`. */
export function nameOfNetwork(networkID: number): string {
  return PUBLIC_NETWORKS.find((network) => network.networkID === networkID)?.name ?? `network ${networkID}`;
}

/** The names under which API providers serve the chains of the primary network; not all serve them under their IDs too. */
export const CHAIN_ALIASES: ReadonlyMap<BlockchainID, 'P' | 'X' | 'C'> = new Map([
  [P_CHAIN_ID, 'P'],
  ...PUBLIC_NETWORKS.flatMap(
    ({ xChainID, cChainID }) =>
      [
        [xChainID, 'X'],
        [cChainID, 'C'],
      ] as const,
  ),
]);
