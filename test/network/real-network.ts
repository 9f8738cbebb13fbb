import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { inject } from 'vitest';
import { callJsonRpc } from './json-rpc.ts';
import { buildNetworkBinaries } from './network-binaries.ts';
import { awaitHealthy, type NetworkNode, type NodeSetup, startNetworkNode } from './network-node.ts';
import { pollUntil } from './poll-until.ts';
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
export const L1_VALIDATOR_BALANCE = 10_000_000_000n;
const L1_EVM_CHAIN_ID = 99_999;

/** Nodes start the plugin of an L1 a second or two after its creation; on a busy machine it takes them longer to connect to one another. */
const L1_START_TIMEOUT_MS = 3 * 60_000;
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
  /** Whether its chain verifies messages of the C-Chain against the primary network: by default against the L1's own validators. */
  readonly requirePrimaryNetworkSigners?: boolean;
}

/** Five avalanchego nodes with an L1, on this machine. */
export interface RealNetwork extends L1 {
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
   * @param node one that runs the chain: by default the first one
   * @param minRemainingMs how long the epoch must last from now on, so that what is signed for it is still verified in it
   */
  awaitEpoch(chain: string, height: bigint, minRemainingMs?: number, node?: NetworkNode): Promise<bigint>;
}

/** Result of `proposervm.getCurrentEpoch`; numbers are decimal strings, the start is in Unix seconds. */
interface Epoch {
  readonly number: string;
  readonly startTime: string;
  readonly pChainHeight: string;
}

/**
 * Builds and starts the network, creates the L1 and returns when every node runs its chain.
 *
 * @throws {import('./go-build.ts').GoMissingError} if Go is not installed
 */
export async function startRealNetwork(): Promise<RealNetwork> {
  const binaries = await buildNetworkBinaries();
  const scratchDir = await mkdtemp(join(inject('networksFolder'), 'network-'));
  await using cleanup = new AsyncDisposableStack();
  const testnet = cleanup.use(startTestnet(binaries.testnet, scratchDir));

  let nodeCount = 0;
  const startNode = (
    setup: Pick<NodeSetup, 'isPrimaryValidator' | 'trackSubnets' | 'bootstrappers' | 'allowedNodes'>,
  ) => {
    nodeCount += 1;
    const dataDir = join(scratchDir, `node-${nodeCount}`);
    return startNetworkNode({ number: nodeCount, dataDir, binaries, testnet, ...setup });
  };

  const nodes: NetworkNode[] = [];
  const ofPrimaryNetwork = { isPrimaryValidator: true, trackSubnets: [FIRST_SUBNET_ID] };
  // The others learn of each other from the first one.
  const first = await startNode({ ...ofPrimaryNetwork, bootstrappers: () => nodes.slice(1) });
  const others = Array.from({ length: NODE_COUNT - 1 }, () =>
    startNode({ ...ofPrimaryNetwork, bootstrappers: () => [first] }),
  );
  nodes.push(first, ...(await Promise.all(others)));
  await Promise.all(nodes.map((node) => awaitHealthy(node)));

  const { subnetID } = await testnet.onNode(first.apiUrl, 'createSubnet', {});
  if (subnetID !== FIRST_SUBNET_ID) throw new Error(`the first subnet is ${subnetID}: the nodes do not track it`);
  const chain = { name: 'l1', evmChainID: L1_EVM_CHAIN_ID };
  const l1 = await createL1(testnet, first, { ...chain, subnetID, weights: L1_WEIGHTS, nodes });

  const { blockchainID: cChainID } = await callJsonRpc<{ blockchainID: string }>(
    `${first.apiUrl}/ext/info`,
    'info.getBlockchainID',
    { alias: 'C' },
  );

  async function addSeparateL1({ allowedNodes, ...options }: SeparateL1Options): Promise<SeparateL1> {
    const { subnetID } = await testnet.onNode(first.apiUrl, 'createSubnet', {});
    const setup = { isPrimaryValidator: false, trackSubnets: [subnetID], bootstrappers: () => nodes, allowedNodes };
    const own = await Promise.all(options.weights.map(() => startNode(setup)));
    const l1 = await createL1(testnet, first, { ...options, subnetID, nodes: own });
    await Promise.all(own.map((node) => awaitHealthy(node)));
    return { ...l1, nodes: own };
  }

  // It ends with this process.
  cleanup.move();
  return {
    nodes,
    cChainID,
    ...l1,
    addSeparateL1,
    onChain: (method, params, node = first) => testnet.onNode(node.apiUrl, method, params),
    call: (method, params) => testnet.call(method, params),
    callApi: (path, method, params = {}, node = first) => callJsonRpc(`${node.apiUrl}${path}`, method, params),
    awaitProposedHeight: (height) => awaitProposedHeight(first, height),
    awaitEpoch: (chain, height, minRemainingMs = 0, node = first) =>
      awaitEpoch(testnet, node, { chain, height, minRemainingMs }),
  };
}

interface L1Setup {
  readonly subnetID: string;
  readonly name: string;
  readonly evmChainID: number;
  /** Those that run the chain; the first of them are its validators, one for each weight. */
  readonly nodes: readonly NetworkNode[];
  readonly weights: readonly bigint[];
  readonly requirePrimaryNetworkSigners?: boolean | undefined;
}

/** @param issuer the node through which the transactions are issued */
async function createL1(testnet: Testnet, issuer: NetworkNode, setup: L1Setup): Promise<L1> {
  const { subnetID, name, evmChainID, requirePrimaryNetworkSigners, nodes, weights } = setup;
  const uri = issuer.apiUrl;
  const chain = { subnetID, name, evmChainID, requirePrimaryNetworkSigners };
  const { blockchainID: l1ChainID } = await testnet.onNode(uri, 'createEVMChain', chain);

  const l1Validators = weights.map((weight, i): L1Validator => {
    const { nodeID, nodePOP } = nodes[i] as NetworkNode;
    return { nodeID, nodePOP, weight, balance: L1_VALIDATOR_BALANCE };
  });
  const conversion = await testnet.onNode(uri, 'convertSubnetToL1', {
    subnetID,
    managerChainID: l1ChainID,
    validators: l1Validators,
  });
  const { height } = await callJsonRpc<{ height: string }>(`${uri}/ext/bc/P`, 'platform.getHeight');

  await Promise.all(nodes.map((node) => awaitBootstrapped(node, l1ChainID)));
  return { subnetID, l1ChainID, l1Validators, conversion, conversionHeight: BigInt(height) };
}

async function awaitBootstrapped({ apiUrl }: NetworkNode, chain: string): Promise<void> {
  const ask = () => callJsonRpc<{ isBootstrapped: boolean }>(`${apiUrl}/ext/info`, 'info.isBootstrapped', { chain });
  await pollUntil(
    // A node that does not know the chain yet answers with an error.
    () => ask().catch((error: unknown) => ({ isBootstrapped: false, error: String(error) })),
    ({ isBootstrapped }) => isBootstrapped,
    L1_START_TIMEOUT_MS,
  );
}

async function awaitProposedHeight({ apiUrl }: NetworkNode, height: bigint): Promise<void> {
  await pollUntil(
    () => callJsonRpc<{ height: string }>(`${apiUrl}/ext/bc/P`, 'platform.getProposedHeight'),
    (proposed) => BigInt(proposed.height) >= height,
    EPOCH_TIMEOUT_MS,
  );
}

async function awaitEpoch(
  testnet: Testnet,
  node: NetworkNode,
  { chain, height, minRemainingMs }: { chain: string; height: bigint; minRemainingMs: number },
): Promise<bigint> {
  const deadline = AbortSignal.timeout(EPOCH_TIMEOUT_MS);
  await awaitProposedHeight(node, height);
  for (;;) {
    const epoch = await callJsonRpc<Epoch>(`${node.apiUrl}/ext/bc/${chain}/proposervm`, 'proposervm.getCurrentEpoch');
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
