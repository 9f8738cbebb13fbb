import type { Random } from '../../lib/concurrency/clock.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { apart } from '../../telemetry/spans.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { PublicKeyTables } from '../backends/public-key-table.ts';
import type { JobBackend, JobQueue } from './job-queue.ts';

/** A verdict of `noble-backend.ts` on a signature. */
export interface Verdict {
  readonly signers: readonly { readonly publicKey: Uint8Array; readonly publicKeyHex: string }[];
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  readonly isValid: boolean;
}

export interface AuditOptions {
  /** Number of verdicts; 1 by default. */
  readonly auditPercentage?: number | undefined;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

const AUDIT_PERCENTAGE = 1;
/** An audit takes some 50 ms of a thread, so these are seconds of work. Further verdicts are counted and not audited. */
const MAX_WAITING = 64;
/** Bytes of messages and of signers' keys. The largest request that the service takes is below it. */
const MAX_WAITING_BYTES = 8 << 20;
/** Decoding a key takes a millisecond: other jobs should not wait long for a thread. */
const KEYS_PER_JOB = 16;

/**
 * Checks a share of verdicts again with noble alone, from the encoded keys and signature (`plain-backend.ts`): after the verdict was
 * returned, one at a time, behind waiting jobs.
 *
 * @param plain context with `plain-backend.ts`
 * @param onDifference called once, at the first difference, which ends the audits
 * @returns a function that queues a verdict for an audit if it belongs to the share
 */
export function createVerdictAudit(
  {
    jobs,
    backend,
    keyTables,
  }: { readonly jobs: JobQueue; readonly backend: JobBackend; readonly keyTables: PublicKeyTables },
  { auditPercentage = AUDIT_PERCENTAGE, random, metrics, logger }: AuditOptions,
  onDifference: () => void,
): (verdict: Verdict) => void {
  const audits = metrics.counter({
    name: 'bls_audits_total',
    help: 'Verdicts on signatures that plain noble was to check again, by outcome: agreed, differed, skipped, failed',
    labels: ['outcome'],
  });
  // Creates the series, so that the first difference is an increase.
  audits.inc({ outcome: 'differed' }, 0);
  const waiting: Verdict[] = [];
  let waitingBytes = 0;
  let isAtWork = false;
  let isOver = false;

  async function work(): Promise<void> {
    isAtWork = true;
    for (let verdict = waiting.shift(); verdict !== undefined; verdict = waiting.shift()) {
      waitingBytes -= bytesOf(verdict);
      try {
        await audit(verdict);
      } catch (error) {
        // For example because the threads are closed.
        audits.inc({ outcome: 'failed' });
        logger.debug({ err: error }, 'a BLS verdict could not be audited');
      }
    }
    isAtWork = false;
  }

  async function audit({ signers, message, signature, isValid }: Verdict): Promise<void> {
    const { table, keys, slots } = keyTables.slotsOf(signers);
    const unknown = slots.filter((slot) => !table.isDecoded(slot));
    for (let from = 0; from < unknown.length; from += KEYS_PER_JOB) {
      const some = unknown.slice(from, from + KEYS_PER_JOB);
      await jobs.run<'decodeKeys'>({ backend }, () => ({ kind: 'decodeKeys', keys, slots: some }));
    }
    const verdict = await jobs.run<'verifySigned'>({ backend }, () => ({
      kind: 'verifySigned',
      keys,
      slots,
      message,
      signature,
    }));
    const isAgreed = (verdict === 'valid') === isValid;
    audits.inc({ outcome: isAgreed ? 'agreed' : 'differed' });
    if (isAgreed || isOver) return;
    isOver = true;
    for (const _ of waiting.splice(0)) audits.inc({ outcome: 'skipped' });
    waitingBytes = 0;
    logger.fatal(
      {
        verdict: isValid ? 'valid' : 'invalid',
        plain: verdict,
        publicKeys: signers.map(({ publicKeyHex }) => publicKeyHex),
        message: bytesToHex(message),
        signature: bytesToHex(signature),
      },
      'wrong BLS arithmetic: a verdict is not that of plain noble, which decides from now on',
    );
    onDifference();
  }

  return (verdict) => {
    if (isOver || random() * 100 >= auditPercentage) return;
    const bytes = bytesOf(verdict);
    if (waiting.length >= MAX_WAITING || waitingBytes + bytes > MAX_WAITING_BYTES) {
      audits.inc({ outcome: 'skipped' });
      return;
    }
    waiting.push(verdict);
    waitingBytes += bytes;
    if (!isAtWork) void apart(work);
  };
}

function bytesOf({ signers, message }: Verdict): number {
  return message.length + signers.length * BLS_PUBLIC_KEY_LENGTH;
}
