import type { BlsJob, BlsJobKind, BlsJobResult, Contributions } from '../service/bls-jobs.ts';
import type { Part, PartChecks } from './find-bad-signers.ts';

/** Runs a job in a thread; rejects where its result is not wanted any more. */
export type RunJob = <K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined) => Promise<BlsJobResult<K>>;

/**
 * The checks of one search for invalid signers, as jobs for the threads.
 *
 * @param all at least one, decoded; positions in the search are positions in these
 * @param message packed
 */
export function createSearchChecks(runJob: RunJob, all: Contributions, message: Uint8Array): PartChecks {
  const { keys, slots } = all;
  const size = all.points.length / slots.length;
  // Shared once, so that the jobs of a long search copy nothing.
  const points = sharedCopy([all.points]);
  const part = ({ start, end }: Part): Contributions & { readonly message: Uint8Array } => ({
    keys,
    slots: slots.slice(start, end),
    points: points.subarray(start * size, end * size),
    message,
  });
  return {
    verify(parts) {
      const [only] = parts;
      if (only !== undefined && parts.length === 1)
        return runJob<'verifySum'>(() => ({ kind: 'verifySum', ...part(only) }));
      const each = parts.map(part);
      const [theirSlots, theirPoints] = [each.flatMap((one) => one.slots), sharedCopy(each.map((one) => one.points))];
      return runJob<'verifySum'>(() => ({
        ...{ kind: 'verifySum', keys, slots: theirSlots, points: theirPoints, message },
      }));
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

function sharedCopy(parts: readonly Uint8Array[]): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(parts.reduce((bytes, { length }) => bytes + length, 0)));
  let at = 0;
  for (const part of parts) {
    copy.set(part, at);
    at += part.length;
  }
  return copy;
}
