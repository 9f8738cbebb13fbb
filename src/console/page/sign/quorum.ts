import { quorumWeight } from '../../../validators/quorum.ts';
import { percent, percentOf } from '../ui/figures.ts';
import type { Acceptors } from './acceptance.ts';

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
  /** Who accepts the signers; undefined while the destination of the request is not known. */
  readonly acceptors: Acceptors | undefined;
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
  const list: Consequence[] = [...obstacles, ...acceptance(quorum, known)];
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

/** Reasons for which the service or every destination will refuse the message. */
function obstaclesTo(quorum: number, buffer: number, known: Preflight): string[] {
  const { messageNetworkId, serviceNetworkId, subnetProblem, acceptors, destinationQuorum } = known;
  const isOtherNetwork =
    messageNetworkId !== undefined && serviceNetworkId !== undefined && messageNetworkId !== serviceNetworkId;
  const sum = quorum + buffer;
  return [
    isOtherNetwork &&
      `This message is of network ID ${messageNetworkId}; this service signs for network ID ${serviceNetworkId}.`,
    known.isNetworkDown && 'Not now: the service can sign nothing for this network.',
    subnetProblem ?? false,
    acceptors === 'none' && (destinationQuorum === undefined ? REFUSED_BY_ALL : REFUSED_BY_DESTINATION),
    sum > MAX_PERCENTAGE && `The quorum and its buffer add up to ${percent(sum)}; at most 100 % is possible.`,
  ].filter((text) => typeof text === 'string');
}

const REFUSED_BY_DESTINATION = 'The destination accepts the validators of another subnet only.';
const REFUSED_BY_ALL = 'No chain accepts it: the validators of the subnet of its source chain must sign.';

/** Who accepts the message, by its signers and its quorum. */
function acceptance(quorum: number, { acceptors, destinationQuorum }: Preflight): Consequence[] {
  if (acceptors === undefined || acceptors === 'none') return [];
  if (destinationQuorum !== undefined) return [acceptanceByDestination(quorum, destinationQuorum, acceptors)];
  if (quorum < DEFAULT_QUORUM) {
    const text = `Below ${percent(DEFAULT_QUORUM)}: the P-Chain, the C-Chain and most L1s will not accept the message. An L1 can be configured to ask for less.`;
    return [{ tone: 'warn', text }];
  }
  switch (acceptors) {
    case 'primary':
      return good(
        'Accepted by the P-Chain and the C-Chain. An L1 accepts its own validators, unless it requires those of the primary network: name it as the destination.',
      );
    case 'c_chain':
      return good(
        'Accepted by the C-Chain. An L1 accepts messages of the P-Chain from its own validators: name it as the destination.',
      );
    case 'signing_subnet':
      return [{ tone: 'warn', text: SIGNING_SUBNET_ONLY }];
    case 'all':
      return good(`Accepted by the P-Chain, the C-Chain and L1s that ask for up to ${percent(quorum)}.`);
    case 'destination':
    case 'unknown':
      return good(`Enough for chains that accept these signers and ask for up to ${percent(quorum)}.`);
  }
}

const SIGNING_SUBNET_ONLY =
  'Accepted by chains of the signing subnet at most: the P-Chain, the C-Chain and other L1s refuse these signers.';

function acceptanceByDestination(quorum: number, demanded: number, acceptors: Acceptors): Consequence {
  if (quorum < demanded) {
    return { tone: 'bad', text: `Below ${percent(demanded)}, which the destination demands: it refuses the message.` };
  }
  return acceptors === 'destination'
    ? { tone: 'good', text: `Accepted by the destination, which demands ${percent(demanded)}.` }
    : {
        tone: 'warn',
        text: `Enough for the destination, which demands ${percent(demanded)}, if it accepts these signers.`,
      };
}

function good(text: string): Consequence[] {
  return [{ tone: 'good', text }];
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
