import { createChainApi } from '../../pchain/rpc/chain-api.ts';
import { createEvmApi, type EvmChainID } from '../../pchain/rpc/evm-api.ts';
import type { JsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeVersionNumbers } from '../../pchain/rpc/node-api.ts';
import { P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { ADDRESS_ADVICE, type Check, inventId } from './check.ts';

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
      severity: 'warning',
      lost: 'everything: no validator set can be read',
      async call(signal) {
        facts.proposedHeight = await api.getProposedHeight(signal);
      },
    },
  ]);
}

/** All other calls to the base URL of a node. Where no ID is known, they ask for an invented one. */
export function nodeChecks(client: JsonRpcClient, facts: ApiFacts, network: AskedNetwork): Check[] {
  const api = createNodeApi(client, client);
  const chains = createChainApi(client);
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map() });
  const [tracked] = network.trackedSubnetIDs;
  const cChainID = publicNetworkNamed(network.name)?.cChainID;
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
  ]);
}

/** Calls of the RPC of an EVM chain that the configuration names. */
export function chainRpcChecks(client: JsonRpcClient, chain: EvmChainID): Check[] {
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map([[chain, client]]) });
  const receipt: Row = {
    method: 'eth_getTransactionReceipt',
    severity: 'warning',
    lost: 'signing by transaction of this chain',
    call: (signal) => evm.getReceipt(chain, inventId(), signal),
  };
  // Destinations of the primary network need no configuration.
  if (chain === 'C') return withAdvice(ADDRESS_ADVICE, [receipt]);
  const config: Row = {
    method: 'eth_getChainConfig',
    severity: 'warning',
    lost: 'the signers and the quorum that this chain demands of its messages',
    call: (signal) => evm.getWarpUpgrades(chain, signal),
  };
  return withAdvice(ADDRESS_ADVICE, [receipt, config]);
}
