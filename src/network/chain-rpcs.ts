import { isDeepStrictEqual } from 'node:util';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { createEvmApi, type EvmApi, type EvmChainID } from '../pchain/rpc/evm-api.ts';
import type { JsonRpcClient } from '../pchain/rpc/json-rpc.ts';

/** The endpoints of EVM chains in the configuration, in the order of preference. */
type ChainEndpoints = ReadonlyMap<EvmChainID, readonly ApiEndpoint[]>;

interface RpcClients {
  /** Opens a client of the node, which `owner` closes. */
  readonly openEvmClient: (owner: AsyncDisposableStack) => JsonRpcClient;
  /** Opens a client of other endpoints. */
  readonly openOther: (owner: AsyncDisposableStack, endpoints: readonly ApiEndpoint[]) => JsonRpcClient;
  /** Returns the base URLs of the node. */
  readonly endpoints: () => readonly ApiEndpoint[];
}

/** Opens the RPCs of EVM chains: those of the configuration, and that of the node for all others. */
export function openChainRpcs(opened: AsyncDisposableStack, initial: ChainEndpoints, clients: RpcClients) {
  const configured = new Map<EvmChainID, JsonRpcClient>();
  let current: ChainEndpoints = new Map();

  function update(next: ChainEndpoints): void {
    const before = current;
    current = next;
    for (const chain of configured.keys()) if (!next.has(chain)) configured.delete(chain);
    for (const [chain, endpoints] of next) {
      const client = configured.get(chain);
      if (client === undefined) configured.set(chain, clients.openOther(opened, endpoints));
      else if (!isDeepStrictEqual(before.get(chain), endpoints)) client.useEndpoints(endpoints);
    }
  }

  update(initial);
  const [cChain, others] = [clients.openEvmClient(opened), clients.openEvmClient(opened)];
  return {
    api: createEvmApi({ cChain, others, configured }),
    endpointsOf: (chain: EvmChainID): readonly ApiEndpoint[] => current.get(chain) ?? clients.endpoints(),
    /** Opens a client of one endpoint of a chain, which `owner` closes. */
    openSingle: (owner: AsyncDisposableStack, chain: EvmChainID, endpoint: ApiEndpoint): EvmApi => {
      const client = clients.openOther(owner, [endpoint]);
      const own: readonly [EvmChainID, JsonRpcClient][] = current.has(chain) ? [[chain, client]] : [];
      return createEvmApi({ cChain: client, others: client, configured: new Map(own) });
    },
    update,
  };
}
