/** How numbers are written for people. Weights are decimal texts, as in the API, since they may exceed 2^53. */

/** A number and its unit stay on one line. */
const NBSP = '\u00a0';

/** Down, to one place: 66.99 is never shown as 67. */
export function percentOf(part: bigint, whole: bigint): string {
  if (whole === 0n) return `0${NBSP}%`;
  const tenths = (1_000n * part) / whole;
  const shown = tenths % 10n === 0n ? String(tenths / 10n) : `${tenths / 10n}.${tenths % 10n}`;
  return tenths === 0n && part > 0n ? `< 0.1${NBSP}%` : `${shown}${NBSP}%`;
}

/** The same of whole numbers. */
export function percent(value: number): string {
  return `${value}${NBSP}%`;
}

/** From 0 to 1, for what is drawn. */
export function ratioOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 1_000_000n) / whole) / 1_000_000;
}

export function grouped(value: bigint | number | string): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, NBSP);
}

const SCALES = [
  [1_000_000_000_000_000n, 'P'],
  [1_000_000_000_000n, 'T'],
  [1_000_000_000n, 'G'],
  [1_000_000n, 'M'],
] as const;

/** Three digits and a letter, of what would be too long to read. */
export function compact(value: bigint): string {
  for (const [scale, letter] of SCALES) {
    if (value < scale) continue;
    const hundredths = (value * 100n) / scale;
    const places = hundredths >= 10_000n ? 0 : hundredths >= 1_000n ? 1 : 2;
    return `${(Number(hundredths) / 100).toFixed(places)} ${letter}`;
  }
  return grouped(value);
}

export function milliseconds(ms: number): string {
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

/** A token amount in its smallest unit; with the decimals that most tokens have, as the message does not tell them. */
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

/** Of a message, which may name any moment: one that no calendar reaches is given as it is. */
export function unixTime(seconds: string): string {
  const unixMs = Number(seconds) * 1_000;
  return unixMs <= LAST_UNIX_MS ? dateTime(unixMs) : `${grouped(seconds)} s after 1970`;
}
