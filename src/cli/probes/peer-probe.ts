import { assembleSubnetView, type SubnetView } from '../../aggregation/subnets/subnet-view.ts';
import type { NetworkConfig } from '../../config/settings.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { openNetworkApi, openPeers } from '../../network/network-parts.ts';
import { formatVersion } from '../../p2p/connection/handshake.ts';
import { NEWEST_KNOWN_VERSION } from '../../p2p/connection/version-watch.ts';
import type { Identity } from '../../p2p/identity/identity.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { ObstacleCause } from '../../p2p/peer-view.ts';
import { createValidatorSets } from '../../pchain/state/validator-sets.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { createWarpSet, type WarpSet } from '../../validators/warp-set.ts';
import {
  type BlockchainID,
  type NodeID,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type ValidationID,
} from '../../warp/ids.ts';
import { encodeL1Message } from '../../warp/l1-message.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { createSourcelessCall } from '../../warp/payload.ts';
import { encodeSignatureRequest } from '../../warp/signature-request.ts';
import { createUnsignedMessage } from '../../warp/unsigned-message.ts';
import { CALL_TIMEOUT_MS, inventId, wordsOf } from './check.ts';
import type { AnswerReport, NetworkReport, SubnetReport } from './report.ts';
import { createTimedDial, type TimedDial } from './timed-dial.ts';
import { askedNode, clockOffsetOf, describeAnswer, describeValidator, describeWeights } from './validator-report.ts';

export interface PeerProbeLimits {
  /** The longest wait for connections. */
  readonly maxConnectMs: number;
  /** Connecting is over when no validator was connected for this long. */
  readonly quietMs: number;
}

/** A public network of a thousand validators is connected within some ten seconds; addresses come by gossip. */
export const DEFAULT_PEER_PROBE_LIMITS: PeerProbeLimits = { maxConnectMs: 45_000, quietMs: 8_000 };

interface PeerProbeOptions {
  readonly network: NetworkConfig;
  readonly identity: Identity;
  readonly limits: PeerProbeLimits;
  readonly say: (text: string) => void;
}

type PeersReport = Pick<
  NetworkReport,
  'networkId' | 'announcedVersion' | 'peersClockOffsetMs' | 'problem' | 'connectingMs' | 'subnets'
> & { readonly validatorCount: number };

const HEAVIEST = 20;
const ANSWER_TIMEOUT_MS = 5_000;
const POLL_MS = 100;
const SET_TIMEOUT_MS = 3 * CALL_TIMEOUT_MS;

interface ReadSubnet {
  readonly subnetID: SubnetID;
  readonly height?: bigint;
  readonly warpSet?: WarpSet;
  readonly problem?: string;
}

/** Connects to the validators of a network as the service does, and asks the heaviest for a signature. */
export async function probePeers({ network, identity, limits, say }: PeerProbeOptions): Promise<PeersReport> {
  await using opened = new AsyncDisposableStack();
  const ports = {
    clock: systemClock,
    random: Math.random,
    metrics: createUnreadMetrics(),
    logger: createLogger('silent'),
  };
  const { node: api } = openNetworkApi(opened, { ...ports, network });
  const subnetIDs = [...new Set([PRIMARY_NETWORK_ID, ...network.trackedSubnetIDs])];
  const networkID = await readNetworkID(network, () => api.getNetworkID(AbortSignal.timeout(CALL_TIMEOUT_MS)));
  if (typeof networkID === 'string') {
    const problem = `the info API does not report the network ID: ${networkID}`;
    return {
      problem,
      subnets: subnetIDs.map((subnetID) => describeUnread(subnetID, problem, network)),
      validatorCount: 0,
    };
  }
  const version = api.getNodeVersion(AbortSignal.timeout(CALL_TIMEOUT_MS)).catch(() => NEWEST_KNOWN_VERSION);
  const times = createTimedDial(identity);
  const peers = opened.use(
    openPeers(
      { ...ports, network, identity, networkID, outside: { dial: times.dial } },
      api,
      () => network.manuallyTrackedPeers,
    ),
  );
  peers.onNodeChange((nodeID) => {
    if (peers.isConnected(nodeID)) times.onReady(nodeID);
  });
  const sets = createValidatorSets({ api, clock: systemClock, build: createWarpSet });
  const subnets = await Promise.all(
    subnetIDs.map(async (subnetID): Promise<ReadSubnet> => {
      try {
        const { height, set } = await sets.atProposed(subnetID, AbortSignal.timeout(SET_TIMEOUT_MS));
        return { subnetID, height, warpSet: set };
      } catch (error) {
        return { subnetID, problem: `its validator set cannot be read: ${wordsOf(error)}` };
      }
    }),
  );
  const nodeIDs = new Set(subnets.flatMap(({ warpSet }) => warpSet?.validators.flatMap((one) => one.nodeIDs) ?? []));
  for (const { subnetID, warpSet } of subnets) {
    if (warpSet) peers.want(subnetID, new Set(warpSet.validators.flatMap((one) => one.nodeIDs)), true);
  }
  const connectingMs = await connect(peers, nodeIDs, limits, (count) =>
    say(`${network.name}: ${count} of ${nodeIDs.size} validators connected`),
  );
  say(`${network.name}: asking the heaviest validators for signatures`);
  const chains = await chainsOf(subnetIDs, network, api);
  const reports = await Promise.all(
    subnets.map((subnet) =>
      probeSubnet(subnet, { network, networkID, peers, times, chainID: chains.get(subnet.subnetID) }),
    ),
  );
  const offsets = [...nodeIDs].flatMap((nodeID) => clockOffsetOf(peers.describe(nodeID)) ?? []);
  return {
    networkId: networkID,
    announcedVersion: formatVersion(await version),
    ...(offsets.length > 0 && { peersClockOffsetMs: median(offsets) }),
    connectingMs,
    subnets: reports,
    validatorCount: nodeIDs.size,
  };
}

/** Returns the words of a failure as a text. */
async function readNetworkID({ name }: NetworkConfig, read: () => Promise<number>): Promise<number | string> {
  const known = publicNetworkNamed(name)?.networkID;
  if (known !== undefined) return known;
  try {
    return await read();
  } catch (error) {
    return wordsOf(error);
  }
}

/** Waits until all nodes are connected, or no further one was for a while. Returns the time that it took. */
async function connect(
  peers: PeerNetwork,
  nodeIDs: ReadonlySet<NodeID>,
  { maxConnectMs, quietMs }: PeerProbeLimits,
  onCount: (count: number) => void,
): Promise<number> {
  const startMs = systemClock.monotonicMs();
  let count = 0;
  let grownMs = startMs;
  for (;;) {
    const nowMs = systemClock.monotonicMs();
    const connected = Array.from(nodeIDs).filter((nodeID) => peers.isConnected(nodeID)).length;
    if (connected > count) grownMs = nowMs;
    count = connected;
    onCount(count);
    const causes = new Set(Array.from(nodeIDs, (nodeID) => peers.obstacle(nodeID)?.cause));
    // The first dial of a node has a result after some timeouts.
    const isQuiet = nowMs - grownMs >= quietMs && !causes.has('connecting');
    const isOver = Array.from(causes).every(isSettled) || nowMs - startMs >= maxConnectMs;
    if (isQuiet || isOver) return Math.round(grownMs - startMs);
    await sleep(systemClock, POLL_MS);
  }
}

/** Whether waiting changes nothing: connected, or never dialled. */
function isSettled(cause: ObstacleCause | undefined): boolean {
  return cause === undefined || cause === 'own_node' || cause === 'private_address';
}

/** Returns a chain that the validators of each subnet run; the P-Chain, which all run, where none is known. */
async function chainsOf(
  subnetIDs: readonly SubnetID[],
  network: NetworkConfig,
  api: ReturnType<typeof openNetworkApi>['node'],
): Promise<ReadonlyMap<SubnetID, BlockchainID>> {
  const chains = new Map<SubnetID, BlockchainID>();
  const cChainID = publicNetworkNamed(network.name)?.cChainID;
  if (cChainID !== undefined) chains.set(PRIMARY_NETWORK_ID, cChainID);
  if (subnetIDs.every((subnetID) => subnetID === PRIMARY_NETWORK_ID)) return chains;
  const all = await api.getBlockchains(AbortSignal.timeout(CALL_TIMEOUT_MS)).catch(() => []);
  for (const { blockchainID, subnetID } of all) {
    if (subnetID !== PRIMARY_NETWORK_ID && subnetIDs.includes(subnetID) && !chains.has(subnetID)) {
      chains.set(subnetID, blockchainID);
    }
  }
  return chains;
}

interface SubnetSurroundings {
  readonly network: NetworkConfig;
  readonly networkID: number;
  readonly peers: PeerNetwork;
  readonly times: Pick<TimedDial, 'of'>;
  readonly chainID: BlockchainID | undefined;
}

async function probeSubnet(
  { subnetID, height, warpSet, problem }: ReadSubnet,
  { network, networkID, peers, times, chainID = P_CHAIN_ID }: SubnetSurroundings,
): Promise<SubnetReport> {
  if (warpSet === undefined || height === undefined)
    return describeUnread(subnetID, problem ?? 'its validator set was not read', network);
  const appBytes = encodeSignatureRequest({
    message: inventMessage(networkID, chainID),
    justification: new Uint8Array(),
  });
  const view = (): SubnetView =>
    assembleSubnetView({
      subnetID,
      pChainHeight: height,
      warpSet,
      peerOf: (nodeID) => peers.describe(nodeID),
      pastOf: () => undefined,
      isInvalidSigner: () => false,
      funds: new Map(),
    });
  const asked = await Promise.all(
    view()
      .validators.slice(0, HEAVIEST)
      .flatMap((validator) => askedNode(validator)?.nodeID ?? [])
      .map(async (nodeID) => [nodeID, await askSignature(peers, nodeID, chainID, appBytes)] as const),
  );
  const answers = new Map(asked);
  // Of now: nodes have closed connections meanwhile.
  const seen = view();
  return {
    ...describeUnread(subnetID, undefined, network),
    ...describeWeights(seen, warpSet, network.name),
    askedChainId: chainID,
    heaviest: seen.validators.slice(0, HEAVIEST).flatMap((validator) => {
      const node = validator.nodes.find(({ nodeID }) => answers.has(nodeID));
      if (node === undefined) return [];
      const answer = answers.get(node.nodeID) ?? { outcome: 'not_asked' };
      const [endpoint] = peers.endpoints(node.nodeID);
      const probed = { node, endpoint, times: times.of(node.nodeID), answer };
      return [describeValidator(validator, probed, seen.totalWeight)];
    }),
  };
}

function describeUnread(subnetID: SubnetID, problem: string | undefined, network: NetworkConfig): SubnetReport {
  return {
    subnetId: subnetID,
    isTracked: subnetID !== PRIMARY_NETWORK_ID,
    ...(problem !== undefined && { problem }),
    neededPercent: Number(network.readyQuorumNum),
    missing: [],
    heaviest: [],
  };
}

/** A message that no chain has sent: nodes that take requests refuse it. */
function inventMessage(networkID: number, sourceChainID: BlockchainID): Uint8Array {
  const validationID = inventId<ValidationID>();
  const content = encodeL1Message({ kind: 'L1ValidatorRegistration', validationID, registered: true });
  return createUnsignedMessage(networkID, sourceChainID, createSourcelessCall(content)).bytes;
}

async function askSignature(
  peers: PeerNetwork,
  nodeID: NodeID,
  chainID: BlockchainID,
  appBytes: Uint8Array,
): Promise<AnswerReport> {
  if (!peers.isConnected(nodeID)) return { outcome: 'not_asked' };
  const startMs = systemClock.monotonicMs();
  const signal = AbortSignal.timeout(2 * ANSWER_TIMEOUT_MS);
  const outcome = await peers.appRequest(nodeID, chainID, appBytes, { timeoutMs: ANSWER_TIMEOUT_MS, signal });
  return { ...describeAnswer(outcome), durationMs: Math.round(systemClock.monotonicMs() - startMs) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
