import type { NodeStatus, SubnetView, ValidatorView } from '../../aggregation/subnets/subnet-view.ts';
import { describeMissingWeight, sumMissingWeight } from '../../aggregation/validators/missing-weight.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import type { AppOutcome } from '../../p2p/connection/app-requests.ts';
import { formatVersion } from '../../p2p/connection/handshake.ts';
import type { ObstacleCause, PeerView } from '../../p2p/peer-view.ts';
import type { Endpoint } from '../../p2p/wire/ip-address.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { parseSignatureResponse } from '../../warp/signature-request.ts';
import { printable } from '../io/text.ts';
import type { AnswerReport, StageReport, SubnetReport, ValidatorReport } from './report.ts';
import type { Times } from './timed-dial.ts';

/** What was found about one node of a validator. */
export interface ProbedNode {
  readonly node: NodeStatus;
  /** At which it was dialled, if it is not connected. */
  readonly endpoint: Endpoint | undefined;
  readonly times: Times;
  readonly answer: AnswerReport;
}

/** Describes a subnet as the service sees it, with the heaviest validators that were asked. */
export function describeWeights(
  { pChainHeight, totalWeight, connectedWeight, validators }: SubnetView,
  warpSet: WarpSet,
  network: string,
): Pick<SubnetReport, 'pChainHeight' | 'validators' | 'totalWeight' | 'reachedWeight' | 'reachedPercent' | 'missing'> {
  const nodes = new Map(validators.flatMap(({ nodes: all }) => all.map((node) => [node.nodeID, node])));
  const missing = sumMissingWeight(warpSet, (nodeID) => nodes.get(nodeID)?.obstacle);
  return {
    pChainHeight: String(pChainHeight),
    validators: warpSet.validators.length,
    totalWeight: String(totalWeight),
    reachedWeight: String(connectedWeight),
    reachedPercent: percent(connectedWeight, totalWeight),
    missing: missing.map((one) => ({
      cause: one.cause,
      weight: String(one.weight),
      percent: percent(one.weight, totalWeight),
      text: printable(describeMissingWeight(one, totalWeight, `networks.${network}`)),
    })),
  };
}

/** Returns the node that is asked: the first one that is connected, else the first. */
export function askedNode({ nodes }: ValidatorView): NodeStatus | undefined {
  return nodes.find(({ obstacle }) => obstacle === undefined) ?? nodes[0];
}

export function describeValidator(
  { weight }: Pick<ValidatorView, 'weight'>,
  { node, endpoint, times, answer }: ProbedNode,
  totalWeight: bigint,
): ValidatorReport {
  const { nodeID, obstacle, address = endpoint, client } = node;
  const offsetMs = clockOffsetOf(node);
  return {
    nodeId: nodeID,
    weight: String(weight),
    percent: percent(weight, totalWeight),
    ...(address !== undefined && { address: describeAddress(address) }),
    ...stagesOf(obstacle?.cause, times),
    ...(obstacle !== undefined && { cause: obstacle.cause, reason: printable(obstacle.reason) }),
    ...(client !== undefined && { version: printable(`${client.name}/${formatVersion(client.version)}`) }),
    ...(offsetMs !== undefined && { clockOffsetMs: offsetMs }),
    answer,
  };
}

function describeAddress({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function describeAnswer(outcome: AppOutcome): AnswerReport {
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
    case 'not_asked':
      return { outcome: outcome.kind, words: outcome.reason };
  }
}

/** Stage at which a connection failed, by its cause; causes that are not here failed before TCP. */
const FAILED_STAGE: Readonly<Partial<Record<ObstacleCause, Stage>>> = {
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

const STAGES = ['tcp', 'tls', 'handshake'] as const;
type Stage = (typeof STAGES)[number];

/** Divides a connection into its parts: those before the failed one were passed. */
export function stagesOf(cause: ObstacleCause | undefined, times: Times): Record<Stage, StageReport> {
  const failed = cause && FAILED_STAGE[cause];
  const passed = cause === undefined ? STAGES.length : failed === undefined ? 0 : STAGES.indexOf(failed);
  const stage = (name: Stage): StageReport => {
    if (name === failed) return { outcome: 'failed' };
    if (STAGES.indexOf(name) >= passed) return { outcome: 'not_reached' };
    const durationMs = times[name];
    return { outcome: 'ok', ...(durationMs !== undefined && { durationMs }) };
  };
  return { tcp: stage('tcp'), tls: stage('tls'), handshake: stage('handshake') };
}

/** Returns the clock of a node less ours; undefined if it has not sent its time. */
export function clockOffsetOf({ obstacle, client }: PeerView): number | undefined {
  const offsetMs = client?.clockOffsetMs ?? obstacle?.clockOffsetMs;
  return offsetMs === undefined ? undefined : Math.round(offsetMs);
}

/** With two decimals, rounded down. */
function percent(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((10_000n * part) / whole) / 100;
}
