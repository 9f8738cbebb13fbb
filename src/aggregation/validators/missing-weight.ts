import type { Obstacle, ObstacleCause } from '../../p2p/peer-view.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import { ratio } from './connected-weight.ts';

/** Weight of a validator set that is not connected, for one cause. `no_key`: validators without a key or balance, which cannot sign. */
export interface MissingWeight {
  readonly cause: ObstacleCause | 'no_key';
  readonly weight: bigint;
  /** Reason of the heaviest of these validators; undefined for `no_key`. */
  readonly reason: string | undefined;
  /** Median difference of the nodes' clocks from ours, with the cause `clock`. */
  readonly clockOffsetMs: number | undefined;
}

/**
 * Adds up the weight that is not connected by cause, the heaviest cause first. A validator with several nodes is missing if none of them is
 * connected, for the cause of the first.
 *
 * @param obstacleOf undefined for a connected node
 */
export function sumMissingWeight(
  { validators, keyless }: Pick<WarpSet, 'validators' | 'keyless'>,
  obstacleOf: (nodeID: NodeID) => Obstacle | undefined,
): MissingWeight[] {
  const missing = validators.flatMap(({ nodeIDs, weight }) => {
    const obstacles = nodeIDs.map(obstacleOf);
    const [first] = obstacles;
    return first === undefined || obstacles.includes(undefined) ? [] : [{ ...first, weight }];
  });
  const sums = Array.from(
    Map.groupBy(missing, ({ cause }) => cause),
    ([cause, all]): MissingWeight => {
      const [heaviest] = all.toSorted((a, b) => Number(b.weight - a.weight));
      const offsets = all.flatMap(({ clockOffsetMs }) => clockOffsetMs ?? []).sort((a, b) => a - b);
      const weight = all.reduce((sum, one) => sum + one.weight, 0n);
      return { cause, weight, reason: heaviest?.reason, clockOffsetMs: offsets[Math.floor(offsets.length / 2)] };
    },
  );
  if (keyless.weight > 0n) {
    sums.push({ cause: 'no_key', weight: keyless.weight, reason: undefined, clockOffsetMs: undefined });
  }
  return sums.sort((a, b) => Number(b.weight - a.weight));
}

/**
 * Describes the missing weight with its share of the total, and what an operator can do about its cause.
 *
 * @param settings of the network in the configuration, such as `networks.fuji`
 */
export function describeMissingWeight(missing: MissingWeight, totalWeight: bigint, settings: string): string {
  const share = `${Number((100 * ratio(missing.weight, totalWeight)).toFixed(2))} %`;
  return `${share} ${findingOf(missing, settings)}`;
}

function findingOf({ cause, reason, clockOffsetMs }: MissingWeight, settings: string): string {
  switch (cause) {
    case 'private_address':
      return `has private addresses: set ${settings}.allowPrivateAddresses to true if they can be reached from here`;
    case 'clock':
      return `is refused for the time: the clock is ${describeOffset(clockOffsetMs ?? 0)}; synchronise it, such as by NTP`;
    case 'no_address':
      return `has no known address: these nodes are down, as no peer has one; otherwise ${settings}.infoApi has to report peers, or ${settings}.manuallyTrackedPeers to name some`;
    case 'tcp_refused':
      return 'refused TCP: these nodes are down, or a firewall rejects the connections';
    case 'unreachable':
      return `cannot be reached (${reason}): allow connections to the staking port of the validators, mostly 9651`;
    case 'no_files':
      return 'could not be dialled, as this process has no file descriptor left: raise its limit (ulimit -n)';
    case 'tls':
      return `failed in TLS (${reason}): these nodes hang, or a proxy on the way inspects TLS`;
    case 'wrong_node':
      return `has another node at its address (${reason})`;
    case 'not_admitted':
      return 'closed the connection right after TLS: another process uses the same NodeID, or the nodes accept listed NodeIDs only';
    case 'other_network':
      return `belongs to another network (${reason}): check ${settings}.infoApi and ${settings}.pChainApi`;
    case 'version':
      return `refused our version (${reason}): update the node behind ${settings}.infoApi, whose version is announced`;
    case 'handshake':
      return `failed in the handshake (${reason})`;
    case 'protocol':
    case 'flood':
      return `was disconnected (${reason})`;
    case 'silent':
    case 'lost':
      return `lost its connection (${reason}), and is dialled again`;
    case 'version_unknown':
      return `is not dialled: ${reason}`;
    case 'no_room':
      return 'is not dialled: all connections of this process are in use';
    case 'own_node':
      return 'is this service, which has the NodeID of a validator: give it an identity of its own';
    case 'no_key':
      return 'has no BLS key or no balance, and cannot sign';
    case 'connecting':
    case 'superseded':
    case 'unwanted':
    case 'shutdown':
      return 'is still being connected';
  }
}

/** @param offsetMs other clocks less ours */
function describeOffset(offsetMs: number): string {
  return `${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead' : 'behind'}`;
}
