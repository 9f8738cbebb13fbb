import type { Clock } from '../../lib/concurrency/clock.ts';
import { BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { BlsBackend } from '../backends/bls-backend.ts';
import { type BackendName, loadBackend } from '../backends/load-backend.ts';
import { PublicKeyTables } from '../backends/public-key-table.ts';
import { Aggregation, type BlsAggregation, type BlsContext, type Signer } from './aggregation.ts';
import type { SignedVerdict } from './bls-jobs.ts';
import { CheckBatches } from './check-batches.ts';
import { JobQueue, showUsage } from './job-queue.ts';
import { type AuditOptions, createVerdictAudit } from './verdict-audit.ts';
import { openWorkerPool } from './worker-pool.ts';

/** Adds up and verifies BLS signatures off the event loop: jobs in a queue (`job-queue.ts`), computed by threads (`worker-pool.ts`). */
export interface BlsService extends BlsVerifier {
  /**
   * Does no work yet. The message is hashed to the curve when its first signature arrives; a message without a signature is never hashed.
   *
   * @param signal aborted when the aggregate is no longer needed: jobs that have not begun are dropped, and callers that wait for one get
   * the signal's reason
   */
  startAggregation(message: Uint8Array, signal: AbortSignal): BlsAggregation;
}

/** Verifies signed messages of other services. */
export interface BlsVerifier {
  /**
   * Verifies an encoded signature with the keys of exactly these signers, at least one.
   *
   * @throws {JobsOverloaded}, or the signal's reason
   */
  verifySigned(signed: SignedByOthers, signal: AbortSignal): Promise<SignedVerdict>;
}

export interface SignedByOthers {
  readonly signers: readonly Signer[];
  readonly message: Uint8Array;
  /** 96 bytes, compressed. */
  readonly signature: Uint8Array;
}

/** The service with its threads. Disposing of it waits for the jobs that are queued. */
export interface OpenBlsService extends BlsService, AsyncDisposable {
  /** Starts the threads, which takes a tenth of a second of another core. Otherwise the first job starts them. */
  start(): void;
}

/** @throws {NativeBackendMissing} */
export async function openBlsService(
  options: AuditOptions & { readonly backend: BackendName; readonly workers: number; readonly clock: Clock },
): Promise<OpenBlsService> {
  // Reports a missing backend once here, rather than in each thread.
  const backend = await loadBackend(options.backend);
  await using opened = new AsyncDisposableStack();
  const threads = opened.use(openWorkerPool(options));
  const jobs = opened.use(new JobQueue(threads));
  showUsage(options.metrics, jobs);
  const closing = opened.move();
  return {
    ...createBlsService(jobs, backend, options.backend === 'noble' ? options : undefined),
    start: () => threads.start(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** @param audit of a share of verdicts by plain noble, which takes over at the first difference; undefined for none */
export function createBlsService(
  jobs: JobQueue,
  { packedPublicKeyBytes }: Pick<BlsBackend, 'packedPublicKeyBytes'>,
  audit?: AuditOptions,
): BlsService {
  let current = contextOf(jobs, packedPublicKeyBytes, false);
  if (audit !== undefined) {
    const plain = contextOf(jobs, BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH, true);
    const onVerdict = createVerdictAudit(plain, audit, () => {
      current.backend.isRetired = true;
      current = plain;
    });
    current = { ...current, onVerdict };
  }
  return {
    startAggregation: (message, signal) => new Aggregation(current, message, signal),
    async verifySigned({ signers, message, signature }, signal) {
      signal.throwIfAborted();
      const { backend, keyTables, onVerdict } = current;
      const { keys, slots } = keyTables.slotsOf(signers);
      const verdict = await jobs.run<'verifySigned'>({ backend, signal }, () => ({
        kind: 'verifySigned',
        keys,
        slots,
        message,
        signature,
      }));
      onVerdict({ signers, message, signature, isValid: verdict === 'valid' });
      return verdict;
    },
  };
}

function contextOf(jobs: JobQueue, packedPublicKeyBytes: number, isPlain: boolean): BlsContext {
  const backend = { isPlain, isRetired: false };
  const checks = new CheckBatches(jobs, backend);
  return { jobs, backend, checks, keyTables: new PublicKeyTables(packedPublicKeyBytes), onVerdict: () => undefined };
}
