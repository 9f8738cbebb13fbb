/** How numbers are written for people. Weights are decimal texts, as in the API, since they may exceed 2^53. */

/** A number and its unit stay on one line. */
const NBSP = '\u00a0';

/** One decimal, rounded down: 66.99 is never shown as 67. */
export function percentOf(part: bigint, whole: bigint): string {
  return whole === 0n ? `0${NBSP}%` : tenthsText(tenthsOf(part, whole), part);
}

/** Decimals of the smallest share that is shown. */
const MAX_DECIMALS = 5;

/** The share of one of many validators: as {@link percentOf}, but with two digits also below 0.1 %. Rounded down. */
export function shareOf(part: bigint, whole: bigint): string {
  if (part === 0n || tenthsOf(part, whole) > 0n || whole === 0n) return percentOf(part, whole);
  for (let decimals = 3; decimals <= MAX_DECIMALS; decimals++) {
    const digits = (100n * 10n ** BigInt(decimals) * part) / whole;
    if (digits >= 10n) return `0.${String(digits).padStart(decimals, '0')}${NBSP}%`;
  }
  return `< 0.0001${NBSP}%`;
}

/**
 * The parts of a whole as percentages that add up to 100. The first is rounded down as by {@link percentOf}, because it is compared with a
 * quorum; the others take up the rest, those with the largest remainders first.
 */
export function sharesOf(parts: readonly bigint[], whole: bigint): string[] {
  const tenths = parts.map((part) => tenthsOf(part, whole));
  const sum = parts.reduce((total, part) => total + part, 0n);
  const left = tenthsOf(sum, whole) - tenths.reduce((total, one) => total + one, 0n);
  const remainderOf = (index: number) => (whole === 0n ? 0n : (1_000n * (parts[index] ?? 0n)) % whole);
  const raised = parts
    .map((_, index) => index)
    .slice(1)
    .sort((a, b) => Number(remainderOf(b) - remainderOf(a)))
    .slice(0, Number(left));
  return parts.map((part, index) => tenthsText((tenths[index] ?? 0n) + (raised.includes(index) ? 1n : 0n), part));
}

/** How much more is needed, as the difference of the two percentages that are shown. */
export function missingOf(part: bigint, needed: bigint, whole: bigint): string {
  const missing = tenthsOf(needed, whole) - tenthsOf(part, whole);
  return tenthsText(missing > 0n ? missing : 0n, needed > part ? needed - part : 0n);
}

function tenthsOf(part: bigint, whole: bigint): bigint {
  return whole === 0n ? 0n : (1_000n * part) / whole;
}

/** Nothing and all are exact, and have no decimal. */
function tenthsText(tenths: bigint, part: bigint): string {
  if (tenths === 0n) return part > 0n ? `< 0.1${NBSP}%` : `0${NBSP}%`;
  return tenths === 1_000n ? `100${NBSP}%` : `${tenths / 10n}.${tenths % 10n}${NBSP}%`;
}

/** A whole percentage, as people choose it. */
export function percent(value: number): string {
  return `${value}${NBSP}%`;
}

/** A share from 0 to 1, with one decimal, rounded down. */
export function sharePercent(share: number): string {
  return percentOf(BigInt(Math.floor(share * 10_000)), 10_000n);
}

/** A share from 0 to 1, for what is drawn. */
export function ratioOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 1_000_000n) / whole) / 1_000_000;
}

export function grouped(value: bigint | number | string): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, NBSP);
}

const NANO_AVAX = 1_000_000_000n;
const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

/** A weight with an SI prefix: of the primary network in AVAX, of other subnets a plain number. Rounded down to two decimals. */
export function compactWeight(weight: bigint, isAvax: boolean): string {
  const one = isAvax ? NANO_AVAX : 1n;
  if (weight === 0n || (weight < 1_000n && !isAvax)) return String(weight);
  const step = Math.max(0, Math.floor((String(weight / one).length - 1) / 3));
  const hundredths = (100n * weight) / (one * 1_000n ** BigInt(step));
  const decimals = String(hundredths % 100n).padStart(2, '0');
  return `${hundredths / 100n}.${decimals}${step === 0 ? '' : NBSP}${PREFIXES[step]}`;
}

export function milliseconds(ms: number | undefined): string {
  if (ms === undefined) return '–';
  if (ms === 0) return '0 ms';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** The two largest units: `3 h 12 min`. */
export function duration(ms: number): string {
  const first = UNITS.findIndex(([length]) => ms >= length);
  if (first < 0) return '0 s';
  let left = ms;
  const parts = UNITS.slice(first, first + 2).map(([length, name]) => {
    const count = Math.floor(left / length);
    left -= count * length;
    return count > 0 ? `${count} ${name}` : '';
  });
  return parts.filter((part) => part !== '').join(' ');
}

export function ago(ms: number): string {
  return ms < 1_000 ? 'now' : `${duration(ms).split(' ').slice(0, 2).join(' ')} ago`;
}

export function bytes(count: number): string {
  return count < 1_048_576 ? `${Math.round(count / 1_024)} KiB` : `${Math.round(count / 1_048_576)} MiB`;
}

/** The start and the end of a long ID, which are what people compare. */
export function shortened(id: string, start = 8, end = 6): string {
  const prefix = id.startsWith('NodeID-') ? 'NodeID-' : id.startsWith('0x') ? '0x' : '';
  const rest = id.slice(prefix.length);
  return rest.length <= start + end + 1 ? id : `${prefix}${rest.slice(0, start)}…${rest.slice(-end)}`;
}

/** A token amount in its smallest unit, and with the decimals of most tokens, because the message does not tell them. */
export function tokenAmount(amount: bigint): string {
  const whole = amount / 10n ** 18n;
  const rest = (amount % 10n ** 18n).toString().padStart(18, '0').replace(/0+$/, '');
  if (amount < 10n ** 12n) return grouped(amount);
  return `${grouped(amount)} (${grouped(whole)}${rest === '' ? '' : `.${rest}`} with 18 decimals)`;
}

export function dateTime(unixMs: number): string {
  return new Date(unixMs)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

/** The last moment that a `Date` can hold. */
const LAST_UNIX_MS = 8.64e15;

/** A message may name any moment; one that no calendar reaches is shown as seconds. */
export function unixTime(seconds: string): string {
  const unixMs = Number(seconds) * 1_000;
  return unixMs <= LAST_UNIX_MS ? dateTime(unixMs) : `${grouped(seconds)} s after 1970`;
}

/** Local day and time: `Nov 28, 14:03`. */
export function dayAndMinute(unixMs: number): string {
  const date = new Date(unixMs);
  const day = date.toLocaleDateString('en', { month: 'short', day: 'numeric' });
  return `${day}, ${date.toTimeString().slice(0, 5)}`;
}

/** Local time, with the day if it is not today: `14:03:10`, `Nov 28, 14:03`. */
export function dayTime(unixMs: number, nowMs = Date.now()): string {
  const isToday = new Date(unixMs).toDateString() === new Date(nowMs).toDateString();
  return isToday ? clockTime(unixMs) : dayAndMinute(unixMs);
}

/** Local time of day: `14:03:10`. */
export function clockTime(unixMs: number): string {
  return new Date(unixMs).toTimeString().slice(0, 8);
}
