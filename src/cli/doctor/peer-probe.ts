import {
  describeMissingWeight,
  type MissingWeight,
  sumMissingWeight,
} from '../../aggregation/validators/missing-weight.ts';
import type { NetworkConfig } from '../../config/settings.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { openNetworkApi, openPeers } from '../../network/network-parts.ts';
import type { AppOutcome } from '../../p2p/connection/app-requests.ts';
import { formatVersion } from '../../p2p/connection/handshake.ts';
import { NEWEST_KNOWN_VERSION } from '../../p2p/connection/version-watch.ts';
import type { Identity } from '../../p2p/identity/identity.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { ObstacleCause } from '../../p2p/peer-view.ts';
import { createValidatorSets } from '../../pchain/state/validator-sets.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { createWarpSet, type WarpSet, type WarpValidator } from '../../validators/warp-set.ts';
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
import { encodeSignatureRequest, parseSignatureResponse } from '../../warp/signature-request.ts';
import { createUnsignedMessage } from '../../warp/unsigned-message.ts';
import { printable } from '../io/text.ts';
import { CALL_TIMEOUT_MS, inventId, wordsOf } from './call-result.ts';
import type { AnswerReport, NetworkReport, StageReport, SubnetReport, ValidatorReport } from './report.ts';
import { createTimedDial, type StageTimes } from './timed-dial.ts';

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
  const offsets = [...nodeIDs].flatMap((nodeID) => clockOffsetOf(peers, nodeID) ?? []);
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
  readonly times: Pick<StageTimes, 'of'>;
  readonly chainID: BlockchainID | undefined;
}

async function probeSubnet(
  { subnetID, height, warpSet, problem }: ReadSubnet,
  { network, networkID, peers, times, chainID = P_CHAIN_ID }: SubnetSurroundings,
): Promise<SubnetReport> {
  if (warpSet === undefined) return describeUnread(subnetID, problem ?? 'its validator set was not read', network);
  const { validators, totalWeight } = warpSet;
  const appBytes = encodeSignatureRequest({
    message: inventMessage(networkID, chainID),
    justification: new Uint8Array(),
  });
  const heaviest = validators.toSorted((a, b) => Number(b.weight - a.weight)).slice(0, HEAVIEST);
  const probed = await Promise.all(
    heaviest.map(async (validator): Promise<ValidatorReport> => {
      const nodeID = validator.nodeIDs.find((one) => peers.isConnected(one)) ?? (validator.nodeIDs[0] as NodeID);
      const answer = await askSignature(peers, nodeID, chainID, appBytes);
      return describeValidator(validator, nodeID, { peers, times, answer, totalWeight });
    }),
  );
  const missing = sumMissingWeight(warpSet, (nodeID) => peers.obstacle(nodeID));
  const missingWeight = missing.reduce((sum, { weight }) => sum + weight, 0n);
  return {
    ...describeUnread(subnetID, undefined, network),
    pChainHeight: String(height),
    validators: validators.length,
    totalWeight: String(totalWeight),
    reachedWeight: String(totalWeight - missingWeight),
    reachedPercent: percent(totalWeight - missingWeight, totalWeight),
    askedChainId: chainID,
    missing: missing.map((one) => describeMissing(one, totalWeight, network.name)),
    heaviest: probed,
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

function describeMissing(
  missing: MissingWeight,
  totalWeight: bigint,
  network: string,
): SubnetReport['missing'][number] {
  return {
    cause: missing.cause,
    weight: String(missing.weight),
    percent: percent(missing.weight, totalWeight),
    text: printable(describeMissingWeight(missing, totalWeight, `networks.${network}`)),
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

function describeAnswer(outcome: AppOutcome): AnswerReport {
  switch (outcome.kind) {
    case 'response': {
      const signature = attempt(() => parseSignatureResponse(outcome.bytes));
      if (signature instanceof ParseError) return { outcome: 'invalid_signature', words: signature.message };
      return { outcome: 'signed' };
    }
    case 'refused':
      return { outcome: 'refused', code: outcome.code, words: printable(outcome.text) };
    case 'timed_out':
      return {
        outcome: 'timed_out',
        words:
          outcome.reason === 'request_dropped'
            ? 'it answers pings, but drops requests: it does not run the chain, or admits listed nodes only'
            : 'no answer, not to a ping either',
      };
    case 'unreachable':
      return { outcome: 'unreachable', words: outcome.reason };
    case 'not_asked':
      return { outcome: 'not_asked', words: outcome.reason };
  }
}

function describeValidator(
  { weight }: WarpValidator,
  nodeID: NodeID,
  {
    peers,
    times,
    answer,
    totalWeight,
  }: Pick<SubnetSurroundings, 'peers' | 'times'> & { answer: AnswerReport; totalWeight: bigint },
): ValidatorReport {
  const { obstacle, address, client } = peers.describe(nodeID);
  const endpoint = address ?? peers.endpoints(nodeID)[0];
  const clockOffsetMs = clockOffsetOf(peers, nodeID);
  return {
    nodeId: nodeID,
    weight: String(weight),
    percent: percent(weight, totalWeight),
    ...(endpoint !== undefined && {
      address: endpoint.host.includes(':')
        ? `[${endpoint.host}]:${endpoint.port}`
        : `${endpoint.host}:${endpoint.port}`,
    }),
    ...stagesOf(obstacle?.cause, times.of(nodeID)),
    ...(obstacle !== undefined && { cause: obstacle.cause, reason: printable(obstacle.reason) }),
    ...(client !== undefined && { version: printable(`${client.name}/${formatVersion(client.version)}`) }),
    ...(clockOffsetMs !== undefined && { clockOffsetMs }),
    answer,
  };
}

/** Stage at which a connection failed, by its cause; causes that are not here failed before TCP. */
const FAILED_STAGE: Readonly<Partial<Record<ObstacleCause, 'tcp' | 'tls' | 'handshake'>>> = {
  unreachable: 'tcp',
  tcp_refused: 'tcp',
  no_files: 'tcp',
  tls: 'tls',
  wrong_node: 'tls',
  not_admitted: 'handshake',
  clock: 'handshake',
  other_network: 'handshake',
  version: 'handshake',
  handshake: 'handshake',
  protocol: 'handshake',
  flood: 'handshake',
  silent: 'handshake',
  lost: 'handshake',
};

function stagesOf(cause: ObstacleCause | undefined, times: ReturnType<StageTimes['of']>) {
  const names = ['tcp', 'tls', 'handshake'] as const;
  const failed = cause && FAILED_STAGE[cause];
  const failedAt = cause === undefined ? names.length : failed === undefined ? -1 : names.indexOf(failed);
  const stage = (index: number): StageReport => {
    if (index > failedAt || failedAt === -1) return { outcome: 'not_reached' };
    if (index === failedAt) return { outcome: 'failed' };
    const durationMs = times[names[index] as (typeof names)[number]];
    return { outcome: 'ok', ...(durationMs !== undefined && { durationMs }) };
  };
  return { tcp: stage(0), tls: stage(1), handshake: stage(2) };
}

function clockOffsetOf(peers: PeerNetwork, nodeID: NodeID): number | undefined {
  const { obstacle, client } = peers.describe(nodeID);
  const offsetMs = client?.clockOffsetMs ?? obstacle?.clockOffsetMs;
  return offsetMs === undefined ? undefined : Math.round(offsetMs);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** With two decimals, rounded down. */
function percent(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((10_000n * part) / whole) / 100;
}
