import { NO_SPAN, type Span, within } from '../../telemetry/spans.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import { encodeSignatureRequest } from '../../warp/signature-request.ts';
import { LARGE_QUERY_BYTES } from '../admission/query-concurrency.ts';
import type { SignatureQuery } from '../validators/signature-source.ts';
import type { SignatureFailure, SignatureOutcome } from '../validators/validator-outcome.ts';
import { type CollectedSignatures, CollectionOver } from './collected-signatures.ts';
import type { CollectionContext } from './collection-job.ts';
import { afterFailure } from './query-plan.ts';
import { failureOf, type ValidatorState } from './tally.ts';

export interface ValidatorQueriesOptions extends CollectionContext {
  readonly signatures: CollectedSignatures;
}

/** Asks the validators of one collection for their signatures, and sets their outcomes in the tally. */
export class ValidatorQueries {
  readonly #options: ValidatorQueriesOptions;
  readonly #timesAsked = new Map<NodeID, number>();
  #encoded: SignatureQuery | undefined;
  asked = 0;

  constructor(options: ValidatorQueriesOptions) {
    this.#options = options;
  }

  /** Asks one of the validator's connected nodes, preferably one that was not asked yet. */
  ask(validator: WarpValidator): void {
    const { tally, queries, client, changes, span = NO_SPAN } = this.#options;
    const before = tally.states[validator.index];
    const attempts = (before?.kind === 'waiting' ? before.attempts : 0) + 1;
    const nodeID = this.#nextNode(validator);
    tally.set(validator.index, { kind: 'queued', attempts });
    let isQueued = false;
    const begin = (): Promise<void> => {
      // Another collection may have returned a permit.
      const answer =
        span === NO_SPAN
          ? this.#askNode(validator, nodeID, attempts)
          : within(span, () => this.#askNode(validator, nodeID, attempts));
      // The plan depends on the time at which the validator is late.
      if (isQueued) changes.wake();
      return answer;
    };
    queries.start(this.#query.appBytes.length, begin, client);
    isQueued = true;
  }

  /** Records that validators refused a message that others signed: they lag, or run something else. */
  othersSigned(): void {
    const { tally, history } = this.#options;
    for (const { index, nodeIDs } of tally.warpSet.validators) {
      if (failureOf(tally.states[index])?.kind !== 'refused') continue;
      for (const nodeID of nodeIDs) if (this.#timesAsked.has(nodeID)) history.failed(nodeID);
    }
  }

  /** Encoded on first use, once for all validators and attempts. */
  get #query(): SignatureQuery {
    if (this.#encoded === undefined) {
      const { message, justification } = this.#options;
      const content = { message: message.bytes, justification };
      const { sourceChainID } = message;
      this.#encoded = { ...content, sourceChainID, appBytes: encodeSignatureRequest(content) };
    }
    return this.#encoded;
  }

  #nextNode({ nodeIDs, index }: WarpValidator): NodeID {
    const { source, history } = this.#options;
    const connected = nodeIDs.filter((nodeID) => source.isConnected(nodeID));
    // Nearly all validators have one node.
    const [next] =
      connected.length < 2
        ? connected
        : connected
            .map((nodeID) => ({
              nodeID,
              times: this.#timesAsked.get(nodeID) ?? 0,
              isDoubtful: Number(history.recordOf(nodeID)?.isDoubtful ?? false),
            }))
            .sort((a, b) => a.times - b.times || a.isDoubtful - b.isDoubtful)
            .map(({ nodeID }) => nodeID);
    if (next === undefined) throw new Error(`asked validator ${index}, which is not connected`);
    this.#timesAsked.set(next, (this.#timesAsked.get(next) ?? 0) + 1);
    return next;
  }

  /** One async function: with thousands of pending requests, each further frame costs garbage collection. */
  async #askNode(validator: WarpValidator, nodeID: NodeID, attempts: number): Promise<void> {
    const { tally, signatures, changes, over, countOutcome, clock, source, limits } = this.#options;
    const { history, observeDelay, span = NO_SPAN } = this.#options;
    try {
      over.throwIfAborted();
      const { isTrial, lateAtMs, sentAtMs } = this.#begin(validator, nodeID, attempts);
      // A trial continues after the collection, to learn whether the validator answers. Large messages are too expensive for
      // that.
      const isApart = isTrial && this.#query.appBytes.length <= LARGE_QUERY_BYTES;
      const options = { timeoutMs: limits.peerTimeoutMs, signal: isApart ? new AbortController().signal : over };
      let outcome: SignatureOutcome;
      try {
        const asking = source.requestSignature(nodeID, this.#query, options);
        outcome = await (span.isRecorded ? traced(span, { nodeID, attempts }, asking) : asking);
      } catch (error) {
        if (clock.monotonicMs() >= lateAtMs) history.failed(nodeID);
        throw error;
      }
      const excessMs = history.learn(nodeID, outcome, clock.monotonicMs() - sentAtMs);
      if (excessMs !== undefined) observeDelay('answers', excessMs);
      over.throwIfAborted();
      if (outcome.kind === 'signature') {
        tally.set(validator.index, ANSWERED);
        const problem = await signatures.take(validator, outcome.signature);
        if (problem === undefined) countOutcome(validator, SIGNED);
        else this.#failed(validator, attempts, { kind: 'invalid_signature', reason: problem });
      } else {
        this.#failed(validator, attempts, outcome);
      }
      changes.wake();
    } catch (error) {
      if (!(error instanceof CollectionOver)) changes.fail(error);
    }
  }

  #begin({ index, publicKeyHex }: WarpValidator, nodeID: NodeID, attempts: number) {
    const { tally, history, invalidSigners, clock, metrics, limits } = this.#options;
    const forecast = tally.forecasts[index];
    const isTrial = forecast?.kind === 'on trial';
    if (isTrial) {
      history.beginTrial(nodeID);
      invalidSigners.beginTrial(publicKeyHex);
    }
    const sentAtMs = clock.monotonicMs();
    const lateAtMs = sentAtMs + (forecast?.hedgeAfterMs ?? limits.hedgeAfterMs);
    tally.set(index, { kind: 'asking', lateAtMs, attempts });
    metrics.signatureRequests.inc();
    this.asked += 1;
    return { isTrial, lateAtMs, sentAtMs };
  }

  #failed(validator: WarpValidator, attempts: number, failure: SignatureFailure): void {
    const { tally, clock, limits, isPChainMessage, countOutcome } = this.#options;
    countOutcome(validator, failure);
    const nodeCount = validator.nodeIDs.length;
    const attempt = { attempts, nodeCount, nowMs: clock.monotonicMs(), isPChainMessage };
    tally.set(validator.index, afterFailure(failure, attempt, limits));
  }
}

const ANSWERED: ValidatorState = { kind: 'answered' };
const SIGNED = { kind: 'signed' } as const;

async function traced(
  parent: Span,
  { nodeID, attempts }: { readonly nodeID: NodeID; readonly attempts: number },
  asking: Promise<SignatureOutcome>,
): Promise<SignatureOutcome> {
  const span = parent.child('app request', 'client');
  span.set('peer.node_id', nodeID);
  span.set('attempt', attempts);
  let word: string = 'timed_out';
  let reason: string | undefined = 'request_ended';
  try {
    const outcome = await asking;
    word = outcome.kind === 'signature' ? 'signed' : outcome.kind;
    reason = 'reason' in outcome ? outcome.reason : undefined;
    if (outcome.kind === 'refused') {
      span.set('refusal.code', outcome.code);
      span.set('refusal.text', outcome.text);
    }
    return outcome;
  } finally {
    span.set('outcome', word);
    if (reason !== undefined) span.set('reason', reason);
    span.end();
  }
}
