import { concatBytes } from '../../lib/encoding/bytes.ts';
import type { BlsJob, BlsJobKind, BlsJobResult, Contributions } from '../service/bls-jobs.ts';
import type { Part } from './find-bad-signers.ts';

/** Runs a job in a thread; rejects if its result is no longer wanted. */
export type RunJob = <K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined) => Promise<BlsJobResult<K>>;

/**
 * The checks of one search for invalid signers, as jobs for the threads.
 *
 * @param all at least one, decoded; positions in the search are positions in these
 * @param message packed
 */
export function createSearchChecks(
  runJob: RunJob,
  { keys, slots, points }: Contributions,
  message: Uint8Array,
): (parts: readonly Part[]) => Promise<boolean> {
  const size = points.length / slots.length;
  return (parts) =>
    runJob<'verifySum'>(() => ({
      kind: 'verifySum',
      keys,
      slots: parts.flatMap(({ start, end }) => slots.slice(start, end)),
      points: concatBytes(...parts.map(({ start, end }) => points.subarray(start * size, end * size))),
      message,
    }));
}
