import { ParseError } from '../lib/encoding/parse-error.ts';

/**
 * What one validator did in one hour or day: 32 numbers. First {@link COUNTS}, then a histogram of the times of its answers, whose places
 * have the upper bounds {@link TIME_BOUNDS_MS} and no bound.
 */
export type SigningCounts = Uint32Array;

/**
 * Collections in which it signed, refused, timed out, was unreachable, gave an invalid signature, or was not asked because it had failed shortly
 * before; and samples of its connection, taken once a minute, and those that found it connected.
 */
export const COUNTS = [
  'signed',
  'refused',
  'timedOut',
  'unreachable',
  'invalid',
  'notAsked',
  'samples',
  'connected',
] as const;
export type CountName = (typeof COUNTS)[number];

const LENGTH = 32;
const FIRST_BOUND_MS = 2;
/** Bounds the factor by which a percentile is too high or too low. */
const BOUND_RATIO = 1.4;
/** The last one is above the longest time of a request to a validator, which is 3 s. */
const TIME_BOUNDS_MS: readonly number[] = Array.from(
  { length: LENGTH - COUNTS.length - 1 },
  (_, place) => FIRST_BOUND_MS * BOUND_RATIO ** place,
);

export function emptyCounts(): SigningCounts {
  return new Uint32Array(LENGTH);
}

export function countOf(counts: SigningCounts, name: CountName): number {
  return counts[COUNTS.indexOf(name)] ?? 0;
}

export function increment(counts: SigningCounts, name: CountName): void {
  incrementAt(counts, COUNTS.indexOf(name));
}

/** Adds the time of an answer to the histogram. */
export function addTime(counts: SigningCounts, tookMs: number): void {
  const above = TIME_BOUNDS_MS.findIndex((boundMs) => tookMs <= boundMs);
  incrementAt(counts, COUNTS.length + (above === -1 ? TIME_BOUNDS_MS.length : above));
}

function incrementAt(counts: SigningCounts, place: number): void {
  counts[place] = (counts[place] ?? 0) + 1;
}

export function addCounts(sum: SigningCounts, more: SigningCounts): void {
  for (let place = 0; place < LENGTH; place += 1) sum[place] = (sum[place] ?? 0) + (more[place] ?? 0);
}

/** Collections that show something about the validator: it was asked, or was not connected when it would have been. */
export function askedOf(counts: SigningCounts): number {
  return COUNTS.slice(0, COUNTS.indexOf('notAsked')).reduce((sum, name) => sum + countOf(counts, name), 0);
}

/** The share of the collections in which it signed, 0 to 1; those in which it was passed over count as well. Undefined without a collection. */
export function signedShareOf(counts: SigningCounts): number | undefined {
  const wanted = askedOf(counts) + countOf(counts, 'notAsked');
  return wanted === 0 ? undefined : countOf(counts, 'signed') / wanted;
}

/** The share of the time for which it was connected, 0 to 1. Undefined if the service took no sample. */
export function connectedShareOf(counts: SigningCounts): number | undefined {
  const samples = countOf(counts, 'samples');
  return samples === 0 ? undefined : countOf(counts, 'connected') / samples;
}

/** Returns the time within which this share of the answers came, interpolated within its place in the histogram. */
export function timeWithin(counts: SigningCounts, share: number): number | undefined {
  const times = counts.subarray(COUNTS.length);
  const rank = share * times.reduce((sum, count) => sum + count, 0);
  if (rank === 0) return undefined;
  let below = 0;
  for (const [place, count] of times.entries()) {
    if (below + count >= rank) {
      const fromMs = TIME_BOUNDS_MS[place - 1] ?? 0;
      const toMs = TIME_BOUNDS_MS[place] ?? fromMs;
      return fromMs + ((rank - below) / count) * (toMs - fromMs);
    }
    below += count;
  }
  return TIME_BOUNDS_MS.at(-1);
}

/** Encodes the numbers that are not 0: a mask of their places, and each as a varint. */
export function encodeCounts(counts: SigningCounts): Uint8Array {
  const bytes: number[] = [0, 0, 0, 0];
  for (const [place, count] of counts.entries()) {
    if (count === 0) continue;
    bytes[place >> 3] = (bytes[place >> 3] ?? 0) | (1 << (place & 7));
    let rest = count;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}

/** @throws {ParseError} if the bytes are not those of {@link encodeCounts} */
export function decodeCounts(bytes: Uint8Array): SigningCounts {
  const counts = emptyCounts();
  let offset = 4;
  for (let place = 0; place < LENGTH; place += 1) {
    if (((bytes[place >> 3] ?? 0) & (1 << (place & 7))) === 0) continue;
    let count = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = bytes[offset];
      if (byte === undefined) throw new ParseError('a row of the record', 'ends too early');
      offset += 1;
      count += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    counts[place] = count;
  }
  return counts;
}
