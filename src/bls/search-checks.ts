import type { BlsJob, BlsJobKind, BlsJobResult, Contributions } from './bls-jobs.ts';
import type { Part, PartChecks } from './find-bad-signers.ts';

/** Runs a job in a thread; rejects where its result is not wanted any more. */
export type RunJob = <K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined) => Promise<BlsJobResult<K>>;

/**
 * The checks of one search for bad signers, as jobs for the threads.
 *
 * @param signers at least one; positions in the search are positions in this list
 * @param contributionsOf their decoded signatures
 * @param message packed
 */
export function createSearchChecks(
  runJob: RunJob,
  signers: readonly number[],
  contributionsOf: (signers: readonly number[]) => Contributions,
  message: Uint8Array,
): PartChecks {
  // Shared once, so that the jobs of a long search copy nothing.
  const { keys, slots, points } = contributionsOf(signers);
  const size = points.length / signers.length;
  const part = ({ start, end }: Part): Contributions & { readonly message: Uint8Array } => ({
    keys,
    slots: slots.slice(start, end),
    points: points.subarray(start * size, end * size),
    message,
  });
  return {
    verify(parts) {
      const members = parts.flatMap(({ start, end }) => signers.slice(start, end));
      return runJob<'verifySum'>(() => ({ kind: 'verifySum', ...contributionsOf(members), message }));
    },
    halves(failed, middle) {
      const { start, defect } = failed;
      return runJob<'halves'>(() => ({ kind: 'halves', ...part(failed), defect, middle: middle - start }));
    },
    async locate(failed, defect) {
      const { position } = await runJob<'locate'>(() => ({ kind: 'locate', ...part(failed), defect }));
      return position === undefined ? undefined : position + failed.start;
    },
  };
}
