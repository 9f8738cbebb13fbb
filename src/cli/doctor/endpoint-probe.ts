import pLimit from 'p-limit';
import { maskedBaseUrl } from '../../config/schema/mask.ts';
import type { NetworkConfig } from '../../config/settings.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { formatVersion } from '../../p2p/connection/handshake.ts';
import { createChainApi } from '../../pchain/rpc/chain-api.ts';
import { createEvmApi, type EvmChainID } from '../../pchain/rpc/evm-api.ts';
import { createJsonRpcClient, type JsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi, parseValidatorsAt } from '../../pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { CALL_TIMEOUT_MS, type CallResult, inventId, isAboutQuestion, skipped, tryCall } from './call-result.ts';
import { probeHttpClock } from './http-clock.ts';
import type { CallReport, EndpointReport, HeightReport, OtherReport } from './report.ts';

/** Calls at one endpoint at a time: public APIs limit them. */
const CALLS_AT_ONCE = 3;
/** Heights below the proposed one. */
const DEPTHS = [10, 100, 1_000, 100_000];
const SET_BYTES = 16 * 1024 * 1024;

interface NamedEndpoint {
  readonly name: string;
  readonly endpoint: ApiEndpoint;
  readonly isPChain: boolean;
  readonly isInfo: boolean;
}

/** Returns the endpoints of the P-Chain and info API, each once. */
export function endpointsOf({ pChainApi, infoApi }: Pick<NetworkConfig, 'pChainApi' | 'infoApi'>): NamedEndpoint[] {
  const byContent = new Map<string, { names: string[]; endpoint: ApiEndpoint; isPChain: boolean; isInfo: boolean }>();
  for (const [setting, endpoints] of Object.entries({ pChainApi, infoApi })) {
    for (const [index, endpoint] of endpoints.entries()) {
      const key = JSON.stringify(endpoint);
      const known = byContent.get(key) ?? { names: [], endpoint, isPChain: false, isInfo: false };
      byContent.set(key, known);
      known.names.push(`${setting}[${index}]`);
      if (setting === 'pChainApi') known.isPChain = true;
      else known.isInfo = true;
    }
  }
  return Array.from(byContent.values(), ({ names, ...rest }) => ({ ...rest, name: names.join(', ') }));
}

/** Tries each call that the service uses at one endpoint, alone, so that no other one hides its failures. */
export async function probeEndpoint(
  { name, endpoint, isPChain, isInfo }: NamedEndpoint,
  network: Pick<NetworkConfig, 'name' | 'trackedSubnetIDs'>,
): Promise<EndpointReport> {
  await using client = openSingleClient(endpoint);
  const api = createNodeApi(client, client);
  const limit = pLimit(CALLS_AT_ONCE);
  const calls: CallReport[] = [];
  let networkId: number | undefined;
  let version: string | undefined;
  const clock = probeHttpClock(endpoint);

  /** @param isKnown whether the endpoint must find what is asked for */
  const record = async <Value>(
    method: string,
    lost: string,
    call: (signal: AbortSignal) => Promise<Value>,
    isKnown = true,
  ) => {
    const place = calls.push({ method, lost, outcome: 'skipped' }) - 1;
    const { value, ...result } = await limit(() => tryCall(call, isKnown ? {} : { isAnswer: isAboutQuestion }));
    calls[place] = { method, ...result, lost };
    return { ...result, value };
  };

  const infoCalls = async (): Promise<void> => {
    const [id, nodeVersion] = await Promise.all([
      record('info.getNetworkID', LOST.networkID, (signal) => api.getNetworkID(signal)),
      record('info.getNodeVersion', LOST.nodeVersion, (signal) => api.getNodeVersion(signal)),
      record('info.peers', LOST.peers, (signal) => api.getPeers(signal)),
      record('info.getNodeID', LOST.ownAddress, (signal) => api.getNodeID(signal)),
      record('info.getNodeIP', LOST.ownAddress, (signal) => api.getNodeIP(signal)),
    ]);
    networkId = id.value;
    version = nodeVersion.value && formatVersion(nodeVersion.value);
  };

  let heights: HeightReport[] = [];
  const pChainCalls = async (): Promise<void> => {
    const [height, proposed] = await Promise.all([
      record('platform.getHeight', LOST.height, (signal) => api.getHeight(signal)),
      record('platform.getProposedHeight', LOST.proposedHeight, (signal) => api.getProposedHeight(signal)),
    ]);
    const others = lookups(api, client, network, height.value);
    // A silent endpoint would take its timeout for each call.
    if (height.outcome === 'unavailable' && proposed.outcome === 'unavailable') {
      for (const { method, lost } of others) calls.push({ method, ...skipped('the endpoint is unavailable'), lost });
      return;
    }
    const asked = others.map(({ method, lost, call, isKnown }) => record(method, lost, call, isKnown));
    heights = await probeHeights(client, proposed.value, (call) => limit(call));
    await Promise.all(asked);
  };

  await Promise.all([isInfo ? infoCalls() : undefined, isPChain ? pChainCalls() : undefined]);
  const clockOffsetMs = await clock;
  return {
    name,
    url: maskedBaseUrl(endpoint.baseUrl),
    ...(networkId !== undefined && { networkId }),
    ...(version !== undefined && { version }),
    ...(clockOffsetMs !== undefined && { clockOffsetMs }),
    calls,
    heights,
  };
}

/** What is lost where no endpoint serves a call. */
const LOST = {
  networkID: 'a private network cannot be opened; the ID of a public one is not checked',
  nodeVersion: 'the newest version that this release knows is announced to peers',
  peers: 'discovery begins with fewer nodes: manuallyTrackedPeers, the node itself, the beacons of a public network',
  ownAddress: 'discovery cannot begin with the node itself',
  height: 'errors about heights are less exact',
  proposedHeight: 'everything: no validator set can be read',
  currentValidators: 'balances of L1 validators in views, and uptimes',
  feePrice: 'how long balances last, in views',
  validatedBy: 'subnets of chains are found by transactions or the list of chains, which takes longer',
  subnet: 'messages and justifications of L1 conversions, and some error texts',
  transaction: 'signing by P-Chain transaction',
  transactionStatus: 'error texts of unknown transactions',
  l1Validator: 'checks of weight messages before they are signed',
  blockchains: 'a second way to the subnet of a chain, and uptimes',
  block: 'removed L1 validators by their transaction: the index of validations',
  epoch: 'requests with a destination: the height of its epoch',
  xChain: 'error texts of X-Chain transactions',
  receipt: 'signing by C-Chain transaction, unless chainRpc.C is set',
} as const;

interface Lookup {
  readonly method: string;
  readonly lost: string;
  readonly call: (signal: AbortSignal) => Promise<unknown>;
  readonly isKnown: boolean;
}

/** Calls about IDs. Where no ID is known, an invented one: an error about it is an answer. */
function lookups(
  api: NodeApi,
  client: JsonRpcClient,
  network: Pick<NetworkConfig, 'name' | 'trackedSubnetIDs'>,
  height: bigint | undefined,
): readonly Lookup[] {
  const { trackedSubnetIDs, name } = network;
  const [tracked] = trackedSubnetIDs;
  const known = publicNetworkNamed(name);
  const chains = createChainApi(client);
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map() });
  const subnetID = tracked ?? inventId<SubnetID>();
  const set = tracked ?? PRIMARY_NETWORK_ID;
  const cChainID = known?.cChainID;
  const entry = (
    method: string,
    lost: string,
    call: (signal: AbortSignal) => Promise<unknown>,
    isKnown = false,
  ): Lookup => ({ method, lost, call, isKnown });
  return [
    entry(
      'platform.getCurrentValidators',
      LOST.currentValidators,
      (signal) => api.getCurrentValidators(set, signal),
      true,
    ),
    entry('platform.getValidatorFeeState', LOST.feePrice, (signal) => api.getValidatorFeePrice(signal), true),
    entry(
      'platform.validatedBy',
      LOST.validatedBy,
      (signal) => api.validatedBy(cChainID ?? inventId(), signal),
      cChainID !== undefined,
    ),
    entry('platform.getSubnet', LOST.subnet, (signal) => api.getSubnet(subnetID, signal), tracked !== undefined),
    entry('platform.getTx', LOST.transaction, (signal) => api.getTx(inventId(), signal)),
    entry('platform.getTxStatus', LOST.transactionStatus, (signal) => api.getTxStatus(inventId(), signal)),
    entry('platform.getL1Validator', LOST.l1Validator, (signal) => api.getL1Validator(inventId(), signal)),
    entry('platform.getBlockchains', LOST.blockchains, (signal) => api.getBlockchains(signal), true),
    entry(
      'platform.getBlockByHeight',
      LOST.block,
      async (signal) => api.getBlockByHeight(height ?? (await api.getProposedHeight(signal)), signal),
      true,
    ),
    entry(
      `proposervm.getCurrentEpoch (${cChainID === undefined ? 'P' : 'C'}-Chain)`,
      LOST.epoch,
      (signal) => chains.getCurrentEpoch(cChainID ?? P_CHAIN_ID, signal),
      true,
    ),
    entry('avm.getTx', LOST.xChain, (signal) => chains.findXChainTx(inventId(), signal)),
    entry('eth_getTransactionReceipt (C-Chain)', LOST.receipt, (signal) => evm.getReceipt('C', inventId(), signal)),
  ];
}

/** Reads the set of the primary network as it is at several heights. Each form is asked for itself, without the client's fallback. */
async function probeHeights(
  client: JsonRpcClient,
  proposed: bigint | undefined,
  limit: (call: () => Promise<CallResult>) => Promise<CallResult>,
): Promise<HeightReport[]> {
  const read = async (height: bigint | 'proposed'): Promise<CallResult> => {
    const { value: _, ...result } = await tryCall((signal) =>
      client.call({
        path: '/ext/bc/P',
        method: 'platform.getValidatorsAt',
        params: { subnetID: PRIMARY_NETWORK_ID, height },
        parseResult: (answer) => parseValidatorsAt(answer).length,
        maxResponseBytes: SET_BYTES,
        signal,
      }),
    );
    return result;
  };
  const method = 'platform.getValidatorsAt';
  const atDepth = async (depth: number): Promise<HeightReport> => {
    const base = { method, form: 'number', depth } as const;
    if (proposed === undefined) return { ...base, ...skipped('the proposed height is not known') };
    if (proposed < BigInt(depth)) return { ...base, ...skipped('the chain is shorter') };
    return { ...base, ...(await limit(() => read(proposed - BigInt(depth)))) };
  };
  const byName = async (): Promise<HeightReport> => ({
    method,
    form: 'proposed',
    depth: 0,
    ...(await limit(() => read('proposed'))),
  });
  return Promise.all([byName(), atDepth(0), ...DEPTHS.map(atDepth)]);
}

/** Tries the RPC of an EVM chain that the configuration names. */
export async function probeChainRpc(chain: EvmChainID, endpoint: ApiEndpoint): Promise<readonly OtherReport[]> {
  await using client = openSingleClient(endpoint);
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map([[chain, client]]) });
  const base = { name: `chainRpc.${chain}`, url: maskedBaseUrl(endpoint.baseUrl) };
  const probe = async (method: string, call: (signal: AbortSignal) => Promise<unknown>): Promise<OtherReport> => {
    const { value: _, ...result } = await tryCall(call);
    return { ...base, method, ...result };
  };
  return await Promise.all([
    probe('eth_getTransactionReceipt', (signal) => evm.getReceipt(chain, inventId(), signal)),
    // Destinations of the primary network need no configuration.
    ...(chain === 'C' ? [] : [probe('eth_getChainConfig', (signal) => evm.getWarpUpgrades(chain, signal))]),
  ]);
}

function openSingleClient(endpoint: ApiEndpoint): JsonRpcClient {
  return createJsonRpcClient({
    endpoints: [endpoint],
    clock: systemClock,
    random: Math.random,
    metrics: createUnreadMetrics(),
    limits: { attemptTimeoutMs: CALL_TIMEOUT_MS, callTimeoutMs: CALL_TIMEOUT_MS, maxRounds: 1 },
  });
}
