import type { EvmBlock } from '../../pchain/codec/evm-block.ts';
import { createChainApi } from '../../pchain/rpc/chain-api.ts';
import { createEvmApi, type EvmApi, type EvmChainID } from '../../pchain/rpc/evm-api.ts';
import type { JsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeVersionNumbers } from '../../pchain/rpc/node-api.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { ADDRESS_ADVICE, type Check, inventId, NotTried } from './check.ts';

/** What calls have answered, which later ones need. */
export interface ApiFacts {
  networkID?: number;
  version?: NodeVersionNumbers;
  height?: bigint;
  proposedHeight?: bigint;
}

export interface AskedNetwork {
  readonly name: string;
  readonly trackedSubnetIDs: readonly SubnetID[];
  readonly feed: { readonly chains: readonly { readonly blockchainId: EvmChainID }[] };
  readonly chainRpc: ReadonlyMap<EvmChainID, unknown>;
}

/** Whether the feed watches a chain. */
export function isWatched({ feed }: Pick<AskedNetwork, 'feed'>, chain: EvmChainID): boolean {
  return feed.chains.some(({ blockchainId }) => blockchainId === chain);
}

type Row = Omit<Check, 'advice'>;

export const NODE_ADVICE = 'add a node of your own to pChainApi, or another provider';

const withAdvice = (advice: string, rows: readonly Row[]): Check[] => rows.map((row) => ({ ...row, advice }));

// Calls without which everything is signed, with worse texts or later, are notes.

const NO_OWN_ADDRESS = 'discovery cannot begin with the node itself';

/** Calls of the info API. */
export function infoChecks(client: JsonRpcClient, facts: ApiFacts): Check[] {
  const api = createNodeApi(client, client);
  return withAdvice('name another API in infoApi', [
    {
      method: 'info.getNetworkID',
      severity: 'warning',
      lost: 'a private network cannot be opened; the ID of a public one is not checked',
      async call(signal) {
        facts.networkID = await api.getNetworkID(signal);
      },
    },
    {
      method: 'info.getNodeVersion',
      severity: 'note',
      lost: 'the newest version that this release knows is announced to peers',
      async call(signal) {
        facts.version = await api.getNodeVersion(signal);
      },
    },
    {
      method: 'info.peers',
      severity: 'note',
      lost: 'discovery begins with fewer nodes: manuallyTrackedPeers, the node itself, the beacons of a public network',
      call: (signal) => api.getPeers(signal),
    },
    { method: 'info.getNodeID', severity: 'note', lost: NO_OWN_ADDRESS, call: (signal) => api.getNodeID(signal) },
    { method: 'info.getNodeIP', severity: 'note', lost: NO_OWN_ADDRESS, call: (signal) => api.getNodeIP(signal) },
  ]);
}

/** Calls of the P-Chain that come first: heights. */
export function heightChecks(client: JsonRpcClient, facts: ApiFacts): Check[] {
  const api = createNodeApi(client, client);
  return withAdvice(NODE_ADVICE, [
    {
      method: 'platform.getHeight',
      severity: 'note',
      lost: 'errors about heights are less exact',
      async call(signal) {
        facts.height = await api.getHeight(signal);
      },
    },
    {
      method: 'platform.getProposedHeight',
      severity: 'problem',
      lost: 'everything: no validator set can be read',
      async call(signal) {
        facts.proposedHeight = await api.getProposedHeight(signal);
      },
    },
  ]);
}

/** All other calls to the base URL of a node. Where no ID is known, they ask for an invented one. The feed reads chains without `chainRpc` here. */
export function nodeChecks(client: JsonRpcClient, facts: ApiFacts, network: AskedNetwork): Check[] {
  const api = createNodeApi(client, client);
  const chains = createChainApi(client);
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map() });
  const [tracked] = network.trackedSubnetIDs;
  const cChainID = publicNetworkNamed(network.name)?.cChainID;
  const watched = network.feed.chains.map(({ blockchainId }) => blockchainId).filter((id) => !network.chainRpc.has(id));
  return withAdvice(NODE_ADVICE, [
    {
      method: 'platform.getCurrentValidators',
      severity: 'warning',
      lost: 'balances of L1 validators in views, and uptimes',
      call: (signal) => api.getCurrentValidators(tracked ?? PRIMARY_NETWORK_ID, signal),
    },
    {
      method: 'platform.getValidatorFeeState',
      severity: 'note',
      lost: 'how long balances last, in views',
      call: (signal) => api.getValidatorFeePrice(signal),
    },
    {
      method: 'platform.validatedBy',
      severity: 'note',
      lost: 'subnets of chains are found by transactions or the list of chains, which takes longer',
      call: (signal) => api.validatedBy(cChainID ?? inventId(), signal),
      isInvented: cChainID === undefined,
    },
    {
      method: 'platform.getSubnet',
      severity: 'warning',
      lost: 'messages and justifications of L1 conversions, and some error texts',
      call: (signal) => api.getSubnet(tracked ?? inventId(), signal),
      isInvented: tracked === undefined,
    },
    {
      method: 'platform.getTx',
      severity: 'warning',
      lost: 'signing by P-Chain transaction',
      call: (signal) => api.getTx(inventId(), signal),
      isInvented: true,
    },
    {
      method: 'platform.getTxStatus',
      severity: 'note',
      lost: 'error texts of unknown transactions',
      call: (signal) => api.getTxStatus(inventId(), signal),
      isInvented: true,
    },
    {
      method: 'platform.getL1Validator',
      severity: 'note',
      lost: 'checks of weight messages before they are signed',
      call: (signal) => api.getL1Validator(inventId(), signal),
      isInvented: true,
    },
    {
      method: 'platform.getBlockchains',
      severity: 'warning',
      lost: 'a second way to the subnet of a chain, and uptimes',
      call: (signal) => api.getBlockchains(signal),
    },
    {
      method: 'platform.getBlockByHeight',
      severity: 'warning',
      lost: 'removed L1 validators by their transaction: the index of validations',
      call: async (signal) => api.getBlockByHeight(facts.height ?? (await api.getProposedHeight(signal)), signal),
    },
    {
      method: `proposervm.getCurrentEpoch (${cChainID === undefined ? 'P' : 'C'}-Chain)`,
      severity: 'warning',
      lost: 'requests with a destination: the height of its epoch',
      call: (signal) => chains.getCurrentEpoch(cChainID ?? P_CHAIN_ID, signal),
    },
    {
      method: 'avm.getTx',
      severity: 'note',
      lost: 'error texts of X-Chain transactions',
      call: (signal) => chains.findXChainTx(inventId(), signal),
      isInvented: true,
    },
    {
      method: 'eth_getTransactionReceipt (C-Chain)',
      severity: 'warning',
      lost: 'signing by C-Chain transaction, unless chainRpc.C is set',
      call: (signal) => evm.getReceipt('C', inventId(), signal),
      isInvented: true,
    },
    ...watched.flatMap((chain) => feedChecks(evm, chain)),
  ]);
}

/** The feed reads no block without these, and says so in its status. */
const NO_FEED = 'the feed of this chain reads no block';
/** Blocks of an idle chain that are searched for a transaction. */
const MAX_EMPTY = 16;

/** Calls by which the feed reads a chain. They share what the first of them finds. */
function feedChecks(evm: EvmApi, chain: EvmChainID): Row[] {
  const readID = shared(async (signal) => {
    const chainID = await evm.getBlockchainID(chain, signal);
    if (chain !== 'C' && chainID !== chain) throw new Error(`it is the RPC of the blockchain ${chainID}`);
    return chainID;
  });
  const readHead = shared(async (signal) => {
    const head = await evm.getBlockNumber(chain, signal);
    const block = await evm.getBlock(chain, head, signal);
    if (block === undefined) throw new Error(`it is at block ${head}, and does not have it`);
    return block;
  });
  const findTransaction = shared(async (signal) => {
    let block: EvmBlock | undefined = await readHead(signal);
    for (let tries = 0; block !== undefined && tries < MAX_EMPTY; tries += 1) {
      if (block.txHashes.length > 0) return block;
      block = block.number === 0 ? undefined : await evm.getBlock(chain, block.number - 1, signal);
    }
    throw new NotTried('its last blocks have no transaction');
  });
  const named = (method: string): string => `${method} (feed of ${chain === 'C' ? 'the C-Chain' : chain})`;
  return [
    { method: named('eth_call'), severity: 'problem', lost: NO_FEED, call: readID },
    { method: named('eth_getBlockByNumber'), severity: 'problem', lost: NO_FEED, call: readHead },
    {
      method: named('eth_getBlockReceipts'),
      severity: 'warning',
      lost: 'receipts by the hash of a block, in place of which the feed reads logs',
      call: async (signal) => evm.getBlockMessages(chain, await findTransaction(signal), await readID(signal), signal),
    },
    {
      method: named('eth_getLogs'),
      severity: 'warning',
      lost: 'ranges of blocks: a feed that is behind reads them one by one, and with one endpoint confirms them by receipts alone',
      async call(signal) {
        const { number, txHashes } = await findTransaction(signal);
        const range = { first: Math.max(0, number - 1), last: number };
        return evm.getLoggedMessages(chain, range, txHashes[0] ?? '', await readID(signal), signal);
      },
    },
  ];
}

/** Calls once, with the first caller's signal: the rows are tried at the same time. */
function shared<T>(call: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let running: Promise<T> | undefined;
  return (signal) => (running ??= call(signal));
}

/** Calls of the RPC of an EVM chain that the configuration names. */
export function chainRpcChecks(client: JsonRpcClient, chain: EvmChainID, isFeed: boolean): Check[] {
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map([[chain, client]]) });
  const receipt: Row = {
    method: 'eth_getTransactionReceipt',
    severity: 'warning',
    lost: 'signing by transaction of this chain',
    call: (signal) => evm.getReceipt(chain, inventId(), signal),
  };
  const config: Row = {
    method: 'eth_getChainConfig',
    severity: 'warning',
    lost: 'the signers and the quorum that this chain demands of its messages',
    call: (signal) => evm.getWarpUpgrades(chain as BlockchainID, signal),
  };
  return withAdvice(ADDRESS_ADVICE, [
    receipt,
    // Destinations of the primary network need no configuration.
    ...(chain === 'C' ? [] : [config]),
    ...(isFeed ? feedChecks(evm, chain) : []),
  ]);
}
