import { LRUCache } from 'lru-cache';
import type { Random } from '../../lib/concurrency/clock.ts';
import { bytesToHex, concatBytes } from '../../lib/encoding/bytes.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Counter, Metrics } from '../../telemetry/metrics.ts';
import { apart } from '../../telemetry/spans.ts';
import { BLS_PUBLIC_KEY_LENGTH, BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { JobRunner } from '../service/job-runner.ts';

/** What the arithmetic of `noble-backend.ts` said of a signature. */
export interface Verdict {
  readonly signers: readonly { readonly publicKey: Uint8Array; readonly publicKeyHex: string }[];
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  readonly isValid: boolean;
}

export interface AuditOptions {
  /** Number of verdicts. */
  readonly auditPercentage: number;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** One takes some 50 ms of a thread, so this many are seconds. What comes beyond is not audited, but counted. */
const MAX_WAITING = 64;
/** Bytes of messages and of signers' keys. The largest request that the service takes is below it. */
const MAX_WAITING_BYTES = 8 << 20;
/** Decoding one takes a millisecond: no other job should have to wait long for a thread. */
const KEYS_PER_JOB = 16;
/** Capacity of the table of public keys: 2 MB. */
const MAX_DECODED_KEYS = 20_000;

/**
 * Has a share of verdicts checked again by noble alone, from the encoded keys and signature on (`plain-backend.ts`). It happens after the
 * verdict has been given, one at a time, behind the jobs that wait.
 */
export class VerdictAudit {
  readonly #runner: JobRunner;
  readonly #options: AuditOptions;
  readonly #onDifference: () => void;
  readonly #audits: Counter<'outcome'>;
  readonly #waiting: Verdict[] = [];
  readonly #decodedKeys = new LRUCache<string, Uint8Array>({ max: MAX_DECODED_KEYS });
  #waitingBytes = 0;
  #isAtWork = false;
  #isOver = false;

  /** @param onDifference called once, at the first difference; nothing is audited from then on */
  constructor(runner: JobRunner, options: AuditOptions, onDifference: () => void) {
    this.#runner = runner;
    this.#options = options;
    this.#onDifference = onDifference;
    this.#audits = options.metrics.counter({
      name: 'bls_audits_total',
      help: 'Verdicts on signatures that plain noble was to check again, by outcome: agreed, differed, skipped, failed',
      labels: ['outcome'],
    });
    // So that the first difference is an increase.
    this.#audits.inc({ outcome: 'differed' }, 0);
  }

  /** Remembers the verdict for an audit, if it is one of the share. */
  consider(verdict: Verdict): void {
    if (this.#isOver || this.#options.random() * 100 >= this.#options.auditPercentage) return;
    const bytes = bytesOf(verdict);
    if (this.#waiting.length >= MAX_WAITING || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.#audits.inc({ outcome: 'skipped' });
      return;
    }
    this.#waiting.push(verdict);
    this.#waitingBytes += bytes;
    if (!this.#isAtWork) void apart(() => this.#work());
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    for (let verdict = this.#waiting.shift(); verdict !== undefined; verdict = this.#waiting.shift()) {
      this.#waitingBytes -= bytesOf(verdict);
      try {
        await this.#audit(verdict);
      } catch (error) {
        // Such as threads that are closed.
        this.#audits.inc({ outcome: 'failed' });
        this.#options.logger.debug({ err: error }, 'a BLS verdict could not be audited');
      }
    }
    this.#isAtWork = false;
  }

  async #audit(verdict: Verdict): Promise<void> {
    const { message, signature, isValid } = verdict;
    const keys = await this.#decodedKeysOf(verdict);
    const plain = await this.#runner.run<'verifyDecoded'>(() => ({
      ...{ kind: 'verifyDecoded', isPlain: true, keys, message, signature },
    }));
    const isAgreed = (plain === 'valid') === isValid;
    this.#audits.inc({ outcome: isAgreed ? 'agreed' : 'differed' });
    if (isAgreed || this.#isOver) return;
    this.#isOver = true;
    for (const _ of this.#waiting.splice(0)) this.#audits.inc({ outcome: 'skipped' });
    this.#waitingBytes = 0;
    this.#options.logger.fatal(
      {
        verdict: isValid ? 'valid' : 'invalid',
        plain,
        publicKeys: verdict.signers.map(({ publicKeyHex }) => publicKeyHex),
        message: bytesToHex(message),
        signature: bytesToHex(signature),
      },
      'wrong BLS arithmetic: a verdict is not that of plain noble, which decides from now on',
    );
    this.#onDifference();
  }

  async #decodedKeysOf({ signers }: Verdict): Promise<Uint8Array> {
    const unknown = signers.filter(({ publicKeyHex }) => !this.#decodedKeys.has(publicKeyHex));
    const decoded = new Map<string, Uint8Array>();
    for (let from = 0; from < unknown.length; from += KEYS_PER_JOB) {
      const some = unknown.slice(from, from + KEYS_PER_JOB);
      const publicKeys = concatBytes(...some.map(({ publicKey }) => publicKey));
      const keys = await this.#runner.run<'decodeKeys'>(() => ({ kind: 'decodeKeys', isPlain: true, publicKeys }));
      for (const [position, { publicKeyHex }] of some.entries()) {
        const start = position * BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH;
        decoded.set(publicKeyHex, keys?.slice(start, start + BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH) ?? new Uint8Array());
      }
    }
    const all = signers.map(({ publicKeyHex }) => decoded.get(publicKeyHex) ?? this.#decodedKeys.get(publicKeyHex));
    for (const [publicKeyHex, key] of decoded) this.#decodedKeys.set(publicKeyHex, key);
    return concatBytes(...all.map((key) => key ?? new Uint8Array()));
  }
}

function bytesOf({ signers, message }: Verdict): number {
  return message.length + signers.length * BLS_PUBLIC_KEY_LENGTH;
}
