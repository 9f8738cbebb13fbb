import type { SubnetHistoryBody, ValidatorHistoryBody } from '../../../api/subnets/history-records.ts';
import type { SubnetViewBody } from '../../../api/subnets/subnet-records.ts';

/** What the service has recorded of a validator in an hour or a day, or since a time. */
export type Recorded = Omit<ValidatorHistoryBody['hours'][number], 'start'>;

export interface WeightInHour {
  readonly start: number;
  readonly weight: bigint;
}

/** Weight that can sign now without the chosen validators, which are named by their keys. */
export function remainingNow({ validators }: Pick<SubnetViewBody, 'validators'>, chosen: ReadonlySet<string>): bigint {
  return validators.reduce((sum, { status, weight, publicKey }) => {
    const isLeft = status === 'signable' && publicKey !== undefined && !chosen.has(publicKey);
    return isLeft ? sum + BigInt(weight) : sum;
  }, 0n);
}

/**
 * Returns the hour in which least weight would have signed without the chosen validators.
 *
 * @param chosen their records, which have the shares of their weights that are left out
 */
export function worstHour(
  hours: SubnetHistoryBody['hours'],
  chosen: readonly Pick<ValidatorHistoryBody, 'weight' | 'hours'>[],
): WeightInHour | undefined {
  const without = hours.map(({ start, signingWeight }) => {
    const left = chosen.reduce((sum, validator) => sum - broughtWeight(validator, start), BigInt(signingWeight));
    return { start, weight: left > 0n ? left : 0n };
  });
  return without.reduce<WeightInHour | undefined>(
    (worst, hour) => (worst === undefined || hour.weight < worst.weight ? hour : worst),
    undefined,
  );
}

/** Shares have four decimals. */
const PARTS = 10_000;

/** Weight that a validator brought in an hour, as the service counts it in `signingWeight`. */
function broughtWeight({ weight, hours }: Pick<ValidatorHistoryBody, 'weight' | 'hours'>, start: number): bigint {
  const hour = hours.find((one) => one.start === start);
  const share = hour?.signedShare ?? hour?.connectedShare ?? 1;
  return (BigInt(weight) * BigInt(Math.round(share * PARTS))) / BigInt(PARTS);
}

/** What the validator did besides signing: `5 timed out, 2 refused`. */
function failuresOf({ timedOut, refused, unreachable, invalidSignature, notAsked }: Recorded): string {
  const counted = [
    [timedOut, 'timed out'],
    [refused, 'refused'],
    [unreachable, 'unreachable'],
    [invalidSignature, 'invalid'],
    [notAsked, 'passed over, as it had just failed'],
  ] as const;
  return counted.flatMap(([count, name]) => (count > 0 ? [`${count} ${name}`] : [])).join(', ');
}

/** `signed 3 of 10: 5 timed out, 2 refused` */
export function countsText(recorded: Recorded): string {
  const { asked, signed } = recorded;
  const failures = failuresOf(recorded);
  if (asked === 0 && failures === '') return 'no question';
  const start = asked === 0 ? 'not asked' : `signed ${signed} of ${asked}`;
  return failures === '' ? start : `${start}: ${failures}`;
}

export type RecordedLevel = 'all' | 'most' | 'few' | 'none' | 'empty';

/** A tenth of the questions without a signature is noticed, and a third breaks the usual quorum. */
const MOST = 0.9;
const FEW = 0.67;

export function levelOf({ signedShare }: Pick<Recorded, 'signedShare'>): RecordedLevel {
  if (signedShare === undefined) return 'empty';
  if (signedShare === 1) return 'all';
  if (signedShare === 0) return 'none';
  return signedShare >= MOST ? 'most' : signedShare >= FEW ? 'few' : 'none';
}
