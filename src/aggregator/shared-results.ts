import type { BlsVerifier } from '../bls/aggregation.ts';
import type { FoundOutcome } from '../store/shared-work.ts';
import { inSpan, NO_SPAN } from '../telemetry/spans.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import type { Ending, SharedResult } from './shared-outcome.ts';

/**
 * Answers ahead of the check of their signature. With noble some 30 ms each, so that they are checked within a second; beyond
 * them answers wait for their check. At 1 KB each they are nothing.
 */
const MAX_CHECKS_BEHIND = 32;

/**
 * Signed messages of other replicas. A destination checks the pairing of each, and so does this service before it answers with one that
 * anybody may have written. One under the seal was written by a replica, which had checked it, for just this message, set and quorum:
 * the answer rests on that, and the pairing is checked behind it. Nothing is kept before. Should one ever be wrong, the seal is worth
 * nothing any more.
 */
export class SharedResults {
  readonly #bls: BlsVerifier;
  readonly #metrics: AggregatorMetrics;
  #behind = 0;

  constructor(bls: BlsVerifier, metrics: AggregatorMetrics) {
    this.#bls = bls;
    this.#metrics = metrics;
  }

  /**
   * @param keep called with what has passed the check of its signature
   * @returns undefined where it is not good
   * @throws what the BLS threads throw, or the signal's reason
   */
  async accept(
    result: SharedResult | undefined,
    found: Pick<FoundOutcome, 'isSealed' | 'refute'>,
    keep: (ending: SharedResult['ending']) => void,
    signal: AbortSignal,
  ): Promise<Ending | undefined> {
    if (result !== undefined && found.isSealed && this.#behind < MAX_CHECKS_BEHIND) {
      this.#count('sealed');
      void this.#checkBehind(result, found, keep);
      return result.ending;
    }
    if (result === undefined || (await this.#bls.verifySigned(result.signed, signal)) !== 'valid') {
      this.#count('refused');
      return undefined;
    }
    this.#count('verified');
    keep(result.ending);
    return result.ending;
  }

  async #checkBehind(
    { ending, signed }: SharedResult,
    { refute }: Pick<FoundOutcome, 'refute'>,
    keep: (ending: SharedResult['ending']) => void,
  ): Promise<void> {
    this.#behind += 1;
    try {
      // The request that it came with, and its trace, have ended.
      const check = inSpan(NO_SPAN, () => this.#bls.verifySigned(signed, new AbortController().signal));
      const isValid = (await check) === 'valid';
      this.#count(isValid ? 'confirmed' : 'refuted');
      if (isValid) keep(ending);
      else refute();
    } catch {
      // Too many jobs wait, or the service ends: it is not kept, and the next request for it is checked again.
      this.#count('unchecked');
    } finally {
      this.#behind -= 1;
    }
  }

  #count(outcome: SharedResultOutcome): void {
    this.#metrics.sharedResults.inc({ outcome });
  }
}

type SharedResultOutcome = 'sealed' | 'confirmed' | 'refuted' | 'unchecked' | 'verified' | 'refused';
