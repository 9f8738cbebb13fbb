import { quorumWeight } from '../../../validators/quorum.ts';
import { percent, percentOf } from '../ui/figures.ts';

/** Quorum of the P-Chain, and of EVM chains by default. */
export const DEFAULT_QUORUM = 67;
export const MAX_PERCENTAGE = 100;

export interface Consequence {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly text: string;
}

/** What is known before a request is sent; parts are undefined while they are not known. */
export interface Preflight {
  /** Network ID of the message. */
  readonly messageNetworkId: number | undefined;
  readonly serviceNetworkId: number | undefined;
  readonly signable: Signable | undefined;
  /** The request names no quorum, and a destination whose own is not known. */
  readonly isDestinationsQuorum: boolean;
  /** Percentage that the destination demands. */
  readonly destinationQuorum: number | undefined;
  /** Whether the service can sign nothing for the network now. */
  readonly isNetworkDown: boolean;
  /** Why the service does not ask the subnet's validators. */
  readonly subnetProblem: string | undefined;
}

export interface Signable {
  readonly totalWeight: bigint;
  readonly signableWeight: bigint;
}

const DESTINATIONS_QUORUM: Consequence = {
  tone: 'good',
  text: 'The destination decides: its own quorum is asked for, 67 % unless it is configured otherwise.',
};

/** What a request with this quorum and buffer leads to, in sentences: first why it cannot succeed, if so. */
export function consequencesOf(quorum: number, buffer: number, known: Preflight): Consequence[] {
  const obstacles = obstaclesTo(quorum, buffer, known).map((text) => ({ tone: 'bad', text }) as const);
  if (known.isDestinationsQuorum) return [...obstacles, DESTINATIONS_QUORUM];
  const list: Consequence[] = [...obstacles, acceptance(quorum, known.destinationQuorum)];
  const spare = MAX_PERCENTAGE - quorum;
  list.push(
    spare <= 0
      ? { tone: 'warn', text: 'Every validator must sign. One that is down, or has no key, makes it impossible.' }
      : { tone: 'good', text: `Up to ${percent(spare)} of the weight may be down or refuse.` },
  );
  if (buffer > 0) {
    list.push({
      tone: 'good',
      text: `${percent(quorum + buffer)} is tried for, so that the message stays valid while up to ${percent(buffer)} of the weight changes before it is delivered. If that does not come in time, ${percent(quorum)} is enough.`,
    });
  }
  if (known.signable !== undefined && obstacles.length === 0) list.push(prospect(quorum, buffer, known.signable));
  return list;
}

/** Reasons for which the service will refuse the request. */
function obstaclesTo(quorum: number, buffer: number, known: Preflight): string[] {
  const { messageNetworkId, serviceNetworkId, subnetProblem } = known;
  const isOtherNetwork =
    messageNetworkId !== undefined && serviceNetworkId !== undefined && messageNetworkId !== serviceNetworkId;
  const sum = quorum + buffer;
  return [
    isOtherNetwork &&
      `This message is of network ID ${messageNetworkId}; this service signs for network ID ${serviceNetworkId}.`,
    known.isNetworkDown && 'Not now: the service can sign nothing for this network.',
    subnetProblem ?? false,
    sum > MAX_PERCENTAGE && `The quorum and its buffer add up to ${percent(sum)}; at most 100 % is possible.`,
  ].filter((text) => typeof text === 'string');
}

function acceptance(quorum: number, demanded: number | undefined): Consequence {
  if (demanded !== undefined) {
    return quorum < demanded
      ? { tone: 'bad', text: `Below ${percent(demanded)}, which the destination demands: it refuses the message.` }
      : { tone: 'good', text: `Accepted by the destination, which demands ${percent(demanded)}.` };
  }
  if (quorum < DEFAULT_QUORUM) {
    return {
      tone: 'warn',
      text: `Below ${percent(DEFAULT_QUORUM)}: the P-Chain, the C-Chain and most L1s will not accept the message. An L1 can be configured to ask for less.`,
    };
  }
  return { tone: 'good', text: `Accepted by the P-Chain, the C-Chain and L1s that ask for up to ${percent(quorum)}.` };
}

function prospect(quorum: number, buffer: number, { totalWeight, signableWeight }: Signable): Consequence {
  const now = percentOf(signableWeight, totalWeight);
  if (signableWeight < quorumWeight(BigInt(quorum), totalWeight)) {
    return { tone: 'bad', text: `Out of reach now: validators with ${now} of the weight can sign.` };
  }
  if (signableWeight < quorumWeight(BigInt(quorum + buffer), totalWeight)) {
    return {
      tone: 'warn',
      text: `The quorum is in reach, its buffer is not: validators with ${now} of the weight can sign now.`,
    };
  }
  return { tone: 'good', text: `In reach: validators with ${now} of the weight can sign now.` };
}

/** The highest quorum that this weight reaches, in whole percent. */
export function quorumOf(weight: bigint, totalWeight: bigint): number {
  return totalWeight === 0n ? 0 : Number((100n * weight) / totalWeight);
}
