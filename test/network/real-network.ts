import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { callJsonRpc } from './json-rpc.ts';
import { buildNetworkBinaries } from './network-binaries.ts';
import { awaitHealthy, type NetworkNode, type NodeSetup, startNetworkNode } from './network-node.ts';
import {
  type ChainMethods,
  type Conversion,
  type L1Validator,
  type PureMethods,
  startTestnet,
  type Testnet,
} from './testnet.ts';

export const PRIMARY_NETWORK_ID = '11111111111111111111111111111111LpoYY';

/** What our helper's first CreateSubnetTx on a fresh local network makes, so that nodes can track it from the start. */
const FIRST_SUBNET_ID = 'Ht8ci8zcnn1dtymzVYAfiQzMCkx9b8ex9U2GeSWNjkZU1q1vD';

/** Uneven, and of the first four nodes: the fifth is left to be registered. */
const L1_WEIGHTS = [100n, 200n, 300n, 400n];
const NODE_COUNT = 5;
/** 10 AVAX keep a validator active for the better part of a year. */
const L1_VALIDATOR_BALANCE = 10_000_000_000n;
const L1_EVM_CHAIN_ID = 99_999;

/** Nodes start the L1's plugin a second or two after the chain's creation. */
const L1_START_TIMEOUT_MS = 60_000;
/** A set becomes current after 30 s (the window of the proposed height), and epochs of 30 s start after that. */
const EPOCH_TIMEOUT_MS = 120_000;
const EPOCH_DURATION_MS = 30_000;
const POLL_INTERVAL_MS = 250;

/** An L1 with one chain, on which its validator manager is. */
export interface L1 {
  readonly subnetID: string;
  readonly l1ChainID: string;
  readonly conversion: Conversion;
  /** The P-Chain height that has the L1's first validators. */
  readonly conversionHeight: bigint;
  readonly l1Validators: readonly L1Validator[];
}

/** An L1 whose validators are no validators of the primary network, and run no chain of it but the P-Chain. */
export interface SeparateL1 extends L1 {
  /** Its validators, the only nodes that run its chain. */
  readonly nodes: readonly NetworkNode[];
}

export interface SeparateL1Options {
  readonly name: string;
  readonly evmChainID: number;
  /** IDs of its validators. */
  readonly weights: readonly bigint[];
  /** NodeIDs to which alone the chain is open, beside its validators: by default it is open to all. */
  readonly allowedNodes?: readonly string[];
}

/** Five avalanchego nodes with an L1, on this machine. */
export interface RealNetwork extends L1, AsyncDisposable {
  readonly nodes: readonly NetworkNode[];
  readonly cChainID: string;

  /** Starts further nodes and makes them the validators of a further L1; returns when they run its chain. */
  addSeparateL1(options: SeparateL1Options): Promise<SeparateL1>;
  /** Calls a method that needs a node: by default the first one. */
  onChain<M extends keyof ChainMethods>(
    method: M,
    params: ChainMethods[M][0],
    node?: NetworkNode,
  ): Promise<ChainMethods[M][1]>;
  /** Calls a method that needs none. */
  call<M extends keyof PureMethods>(method: M, params: PureMethods[M][0]): Promise<PureMethods[M][1]>;
  /** Calls a node's API, by default the first one's: `path` is such as `/ext/bc/P`. */
  callApi<Result>(path: string, method: string, params?: object, node?: NetworkNode): Promise<Result>;

  /** Waits until the proposed P-Chain height, which trails the accepted one by up to 30 s, reaches a height. */
  awaitProposedHeight(height: bigint): Promise<void>;
  /**
   * Waits until a chain ("P", the C-Chain or the L1) verifies messages with validator sets of at least the given P-Chain
   * height, and returns the height. Makes blocks on the chain where it needs them: an epoch ends with a block.
   *
   * @param minRemainingMs how long the epoch must last from now on, so that what is signed for it is still verified in it
   */
  awaitEpoch(chain: string, height: bigint, minRemainingMs?: number): Promise<bigint>;
}

/** Result of `proposervm.getCurrentEpoch`; numbers are decimal strings, the start is in Unix seconds. */
interface Epoch {
  readonly number: string;
  readonly startTime: string;
  readonly pChainHeight: string;
}

export interface RealNetworkOptions {
  readonly signal?: AbortSignal;
  /** Gets a line for each step, with the time since the start. */
  readonly report?: (line: string) => void;
}

/**
 * Builds and starts the network, creates the L1 and returns when every node runs its chain.
 *
 * @throws {import('./network-binaries.ts').GoMissingError} where Go is not installed
 */
export async function startRealNetwork({
  signal = new AbortController().signal,
  report = console.log,
}: RealNetworkOptions = {}): Promise<RealNetwork> {
  const startedAt = performance.now();
  const step = (line: string) => report(`[${((performance.now() - startedAt) / 1000).toFixed(1)} s] ${line}`);

  const binaries = await buildNetworkBinaries(step, signal);
  const scratchDir = await mkdtemp(join(tmpdir(), 'real-network-'));
  await using cleanup = new AsyncDisposableStack();
  const testnet = cleanup.use(startTestnet(binaries.testnet, scratchDir));

  let nodeCount = 0;
  const startNode = (
    setup: Pick<NodeSetup, 'isPrimaryValidator' | 'trackSubnets' | 'bootstrappers' | 'allowedNodes'>,
  ) => {
    nodeCount += 1;
    const dataDir = join(scratchDir, `node-${nodeCount}`);
    return startNetworkNode({ number: nodeCount, dataDir, binaries, testnet, signal, ...setup });
  };

  const nodes: NetworkNode[] = [];
  const ofPrimaryNetwork = { isPrimaryValidator: true, trackSubnets: [FIRST_SUBNET_ID] };
  // The others learn of each other from the first one.
  const first = await startNode({ ...ofPrimaryNetwork, bootstrappers: () => nodes.slice(1) });
  const others = Array.from({ length: NODE_COUNT - 1 }, () =>
    startNode({ ...ofPrimaryNetwork, bootstrappers: () => [first] }),
  );
  nodes.push(first, ...(await Promise.all(others)));
  await Promise.all(nodes.map((node) => awaitHealthy(node, signal)));
  step(`${nodes.length} nodes are healthy`);

  const { subnetID } = await testnet.onNode(first.apiUrl, 'createSubnet', {});
  if (subnetID !== FIRST_SUBNET_ID) throw new Error(`the first subnet is ${subnetID}: the nodes do not track it`);
  const chain = { name: 'l1', evmChainID: L1_EVM_CHAIN_ID };
  const l1 = await createL1(testnet, first, { ...chain, subnetID, weights: L1_WEIGHTS, nodes }, signal);
  step(`L1 ${l1.subnetID} runs on all nodes`);

  const { blockchainID: cChainID } = await callJsonRpc<{ blockchainID: string }>(
    `${first.apiUrl}/ext/info`,
    'info.getBlockchainID',
    { alias: 'C' },
    signal,
  );

  async function addSeparateL1({ allowedNodes, ...options }: SeparateL1Options): Promise<SeparateL1> {
    const { subnetID } = await testnet.onNode(first.apiUrl, 'createSubnet', {});
    const setup = { isPrimaryValidator: false, trackSubnets: [subnetID], bootstrappers: () => nodes, allowedNodes };
    const own = await Promise.all(options.weights.map(() => startNode(setup)));
    const l1 = await createL1(testnet, first, { ...options, subnetID, nodes: own }, signal);
    await Promise.all(own.map((node) => awaitHealthy(node, signal)));
    step(`L1 ${subnetID} runs on ${own.map(({ name }) => name).join(', ')}`);
    return { ...l1, nodes: own };
  }

  const network = cleanup.move();
  return {
    nodes,
    cChainID,
    ...l1,
    addSeparateL1,
    onChain: (method, params, node = first) => testnet.onNode(node.apiUrl, method, params),
    call: (method, params) => testnet.call(method, params),
    callApi: (path, method, params = {}, node = first) => callJsonRpc(`${node.apiUrl}${path}`, method, params, signal),
    awaitProposedHeight: (height) => awaitProposedHeight(first, height, signal),
    awaitEpoch: (chain, height, minRemainingMs = 0) =>
      awaitEpoch(testnet, first, { chain, height, minRemainingMs }, signal),
    [Symbol.asyncDispose]: () => network.disposeAsync(),
  };
}

interface L1Setup {
  readonly subnetID: string;
  readonly name: string;
  readonly evmChainID: number;
  /** Those that run the chain; the first of them are its validators, one for each weight. */
  readonly nodes: readonly NetworkNode[];
  readonly weights: readonly bigint[];
}

/** @param issuer the node through which the transactions are issued */
async function createL1(testnet: Testnet, issuer: NetworkNode, setup: L1Setup, signal: AbortSignal): Promise<L1> {
  const { subnetID, name, evmChainID, nodes, weights } = setup;
  const uri = issuer.apiUrl;
  const { blockchainID: l1ChainID } = await testnet.onNode(uri, 'createEVMChain', { subnetID, name, evmChainID });

  const l1Validators = weights.map((weight, i): L1Validator => {
    const { nodeID, nodePOP } = nodes[i] as NetworkNode;
    return { nodeID, nodePOP, weight, balance: L1_VALIDATOR_BALANCE };
  });
  const conversion = await testnet.onNode(uri, 'convertSubnetToL1', {
    subnetID,
    managerChainID: l1ChainID,
    validators: l1Validators,
  });
  const { height } = await callJsonRpc<{ height: string }>(`${uri}/ext/bc/P`, 'platform.getHeight', {}, signal);

  const deadline = AbortSignal.any([signal, AbortSignal.timeout(L1_START_TIMEOUT_MS)]);
  await Promise.all(nodes.map((node) => awaitBootstrapped(node, l1ChainID, deadline)));
  return { subnetID, l1ChainID, l1Validators, conversion, conversionHeight: BigInt(height) };
}

async function awaitBootstrapped(node: NetworkNode, chain: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { isBootstrapped } = await callJsonRpc<{ isBootstrapped: boolean }>(
      `${node.apiUrl}/ext/info`,
      'info.isBootstrapped',
      { chain },
      signal,
    ).catch((error: unknown) => {
      signal.throwIfAborted();
      return { isBootstrapped: false, error }; // a node that does not know the chain yet answers with an error
    });
    if (isBootstrapped) {
      return;
    }
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
}

async function awaitProposedHeight(node: NetworkNode, height: bigint, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(EPOCH_TIMEOUT_MS)]);
  for (;;) {
    const proposed = await callJsonRpc<{ height: string }>(
      `${node.apiUrl}/ext/bc/P`,
      'platform.getProposedHeight',
      {},
      deadline,
    );
    if (BigInt(proposed.height) >= height) {
      return;
    }
    await delay(POLL_INTERVAL_MS, undefined, { signal: deadline });
  }
}

async function awaitEpoch(
  testnet: Testnet,
  node: NetworkNode,
  { chain, height, minRemainingMs }: { chain: string; height: bigint; minRemainingMs: number },
  signal: AbortSignal,
): Promise<bigint> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(EPOCH_TIMEOUT_MS)]);
  await awaitProposedHeight(node, height, deadline);
  for (;;) {
    const epoch = await callJsonRpc<Epoch>(
      `${node.apiUrl}/ext/bc/${chain}/proposervm`,
      'proposervm.getCurrentEpoch',
      {},
      deadline,
    );
    const endsAt = Number(epoch.startTime) * 1000 + EPOCH_DURATION_MS;
    if (BigInt(epoch.pChainHeight) >= height && endsAt - Date.now() >= minRemainingMs) {
      return BigInt(epoch.pChainHeight);
    }
    // The block that ends an epoch comes after its time is over; the next epoch takes that block's P-Chain height.
    await delay(Math.max(POLL_INTERVAL_MS, endsAt - Date.now()), undefined, { signal: deadline });
    if (chain === 'P') {
      await testnet.onNode(node.apiUrl, 'advancePChain', {});
    } else {
      await testnet.onNode(node.apiUrl, 'sendWarpMessages', { blockchainID: chain, payloads: ['0x'] });
    }
  }
}
