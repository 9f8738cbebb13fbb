import type { NetworkConfig } from '../config/settings.ts';
import { createBlockSource } from '../feed/blocks/block-source.ts';
import { createChainIdentifier } from '../feed/chains/chain-identity.ts';
import { type FeedOptions, type FeedService, type FeedSettings, openFeed } from '../feed/feed.ts';
import { hasMessageStore, openMessageStore } from '../feed/message-store.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { openWebSocket } from '../lib/net/web-socket.ts';
import type { EvmApi, EvmChainID } from '../pchain/rpc/evm-api.ts';
import type { PrimaryChains } from '../pchain/state/primary-chains.ts';
import type { SubnetDirectory } from '../pchain/state/subnet-directory.ts';
import { createThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { SubnetID } from '../warp/ids.ts';

export interface NetworkFeedOptions
  extends Pick<FeedOptions, 'aggregator' | 'clock' | 'random' | 'logger' | 'metrics'> {
  readonly network: Pick<NetworkConfig, 'name' | 'feed' | 'trackedSubnetIDs'>;
  readonly networkID: number;
  readonly storePath: string | undefined;
  readonly primaryChains: PrimaryChains;
  readonly directory: Pick<SubnetDirectory, 'validatedBy'>;
  /** Returns the endpoints of the RPC of a chain, in the order of preference. */
  readonly endpointsOf: (chain: EvmChainID) => readonly ApiEndpoint[];
  /** Opens a client of one of them that only the feed uses, so that lookups of clients do not delay it. */
  readonly openEvmApi: (owner: AsyncDisposableStack, chain: EvmChainID, endpoint: ApiEndpoint) => EvmApi;
  readonly trackSubnets: (subnetIDs: readonly SubnetID[]) => void;
}

/** Limits of the stored messages, in bytes. */
const MAX_MEMORY_BYTES = 128 * 1024 * 1024;
const MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024;

export interface NetworkFeed {
  readonly feed: FeedService;
  /** Updates the watched chains and their endpoints, and the subnets that are tracked besides theirs. */
  update(next: Pick<NetworkConfig, 'trackedSubnetIDs' | 'feed'>): void;
  /** Reads chains from the endpoints that they have now. */
  readonly refresh: () => void;
}

/** Opens the feed of a network, which tracks the subnets of watched chains. */
export function openNetworkFeed(opened: AsyncDisposableStack, options: NetworkFeedOptions): NetworkFeed {
  const { network, networkID, storePath: directory } = options;
  const place = { directory, networkID, name: network.name };
  const warn = createThrottledWarnings(options.logger, options.clock);
  /** Subnets of the watched chains, by the chains' names in the settings. */
  const watched = new Map<EvmChainID, SubnetID>();
  let configured = network.trackedSubnetIDs;
  let settings: FeedSettings = network.feed;
  const track = (): void => options.trackSubnets([...new Set([...configured, ...watched.values()])]);
  const trackSubnet = (chain: EvmChainID, subnetID: SubnetID): void => {
    watched.set(chain, subnetID);
    track();
  };
  /** A chain with other endpoints has other settings, so that it is watched anew. */
  const withEndpoints = (): FeedSettings => ({
    ...settings,
    chains: settings.chains.map((chain) => ({ ...chain, endpoints: options.endpointsOf(chain.blockchainId) })),
  });
  const feed = opened.use(
    openFeed({
      ...options,
      settings: withEndpoints(),
      openStore: () =>
        openMessageStore(place, (position, err) =>
          warn('message', { ...position, err }, 'a stored message cannot be read, and is left out'),
        ),
      hasStoredMessages: () => directory !== undefined && hasMessageStore(place),
      maxBytes: directory === undefined ? MAX_MEMORY_BYTES : MAX_FILE_BYTES,
      identify: createChainIdentifier({ ...options, trackSubnet }),
      openSocket: openWebSocket,
      openSources: (owner, { blockchainId: chain, endpoints = [] }, chainID) =>
        endpoints.map((endpoint) => createBlockSource(options.openEvmApi(owner, chain, endpoint), chain, chainID)),
    }),
  );
  return {
    feed,
    update(next) {
      configured = next.trackedSubnetIDs;
      const chains = new Set(next.feed.chains.map(({ blockchainId }) => blockchainId));
      for (const chain of watched.keys()) if (!chains.has(chain)) watched.delete(chain);
      track();
      settings = next.feed;
      feed.update(withEndpoints());
    },
    refresh: () => feed.update(withEndpoints()),
  };
}
