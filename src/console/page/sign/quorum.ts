import { percent, percentOf } from '../ui/figures.ts';

/** What EVM chains and the P-Chain ask for, unless an EVM chain is configured otherwise. */
export const DEFAULT_QUORUM = 67;
export const MAX_PERCENTAGE = 100;

/** The least weight of which the percentage is reached. */
export function weightNeeded(totalWeight: bigint, percentage: number): bigint {
  return (totalWeight * BigInt(percentage) + 99n) / 100n;
}

export interface Consequence {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly text: string;
}

/** What choosing this quorum and buffer means, in sentences. `signable` is what is known of the subnet, if anything is. */
export function consequencesOf(
  quorum: number,
  buffer: number,
  signable: { readonly totalWeight: bigint; readonly signableWeight: bigint } | undefined,
): Consequence[] {
  const list: Consequence[] = [acceptance(quorum)];
  const spare = MAX_PERCENTAGE - quorum;
  list.push(
    spare === 0
      ? { tone: 'warn', text: 'Every validator must sign. One that is down, or has no key, makes it impossible.' }
      : { tone: 'good', text: `Up to ${percent(spare)} of the weight may be down or refuse.` },
  );
  if (buffer > 0) {
    list.push({
      tone: 'good',
      text: `${percent(quorum + buffer)} are tried for, so that the message stays good while up to ${percent(buffer)} of the weight change before it is delivered. If they do not come in time, ${percent(quorum)} are enough.`,
    });
  }
  if (signable !== undefined) list.push(prospect(quorum, buffer, signable));
  return list;
}

function acceptance(quorum: number): Consequence {
  if (quorum < DEFAULT_QUORUM) {
    return {
      tone: 'warn',
      text: `Below ${percent(DEFAULT_QUORUM)}: the P-Chain, the C-Chain and most L1s will not accept the message. An L1 can be configured to ask for less.`,
    };
  }
  return { tone: 'good', text: `Accepted by the P-Chain, the C-Chain and L1s that ask for up to ${percent(quorum)}.` };
}

function prospect(
  quorum: number,
  buffer: number,
  { totalWeight, signableWeight }: { readonly totalWeight: bigint; readonly signableWeight: bigint },
): Consequence {
  const now = percentOf(signableWeight, totalWeight);
  if (signableWeight < weightNeeded(totalWeight, quorum)) {
    return { tone: 'bad', text: `Out of reach now: validators with ${now} of the weight can sign.` };
  }
  if (signableWeight < weightNeeded(totalWeight, quorum + buffer)) {
    return {
      tone: 'warn',
      text: `The quorum is in reach, its buffer is not: validators with ${now} of the weight can sign now.`,
    };
  }
  return { tone: 'good', text: `In reach: validators with ${now} of the weight can sign now.` };
}

/** The highest quorum that this weight makes, in whole percent. */
export function quorumOf(weight: bigint, totalWeight: bigint): number {
  return totalWeight === 0n ? 0 : Number((100n * weight) / totalWeight);
}
