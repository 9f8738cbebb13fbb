import { NO_SPAN, type Span, within } from '../../telemetry/spans.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import { encodeSignatureRequest } from '../../warp/signature-request.ts';
import { LARGE_QUERY_BYTES } from '../admission/query-concurrency.ts';
import type { SignatureQuery } from '../validators/signature-source.ts';
import type { AttemptFailure, AttemptOutcome } from '../validators/validator-outcome.ts';
import type { CollectedSignatures } from './collected-signatures.ts';
import { type CollectionContext, CollectionOver } from './collection-context.ts';
import { answersOf, type ValidatorAnswer, type ValidatorQuestion } from './validator-answers.ts';
import { failureOf, type ValidatorState } from './validator-state.ts';

export interface ValidatorQueriesOptions extends CollectionContext {
  readonly signatures: CollectedSignatures;
}

/** Asks the validators of one collection for their signatures, and sets their outcomes in the tally. */
export interface ValidatorQueries {
  /** Number of requests that cost the client points if no validator signs. */
  readonly asked: number;
  /** Asks one of the validator's connected nodes, preferably one that was not asked yet. */
  ask(validator: WarpValidator): void;
  /**
   * Records that validators refused a message that others signed: they lag, or run something else. If none signed at first, only refusals
   * after the first signature show that.
   */
  othersSigned(wasSignedAtFirst: boolean): void;
  /** Returns what each validator did, after the message was signed. */
  answers(wasSignedAtFirst: boolean, isConnected: (validator: WarpValidator) => boolean): readonly ValidatorAnswer[];
}

export function createValidatorQueries(options: ValidatorQueriesOptions): ValidatorQueries {
  const { tally, apply, plan, source, queries, signatures, history, invalidSigners } = options;
  const { message, justification } = plan;
  const { client, clock, limits, metrics, observeDelay, countOutcome, changes, over, span, times } = options;
  const timesAsked = new Map<NodeID, number>();
  /** Validators that refused after another one had signed. */
  const lagging = new Set<WarpValidator>();
  /** The last request to each validator, by canonical index. */
  const questions = new Map<number, ValidatorQuestion>();
  let encoded: SignatureQuery | undefined;
  let asked = 0;

  function ask(validator: WarpValidator): void {
    const nodeID = nextNode(validator);
    const { attempts } = apply(validator.index, { kind: 'queued' });
    let isQueued = false;
    const start = (): Promise<void> => {
      // Another collection may have returned a permit.
      const answer =
        span === NO_SPAN
          ? askNode(validator, nodeID, attempts)
          : within(span, () => askNode(validator, nodeID, attempts));
      // The plan depends on the time at which the validator is late.
      if (isQueued) changes.wake();
      return answer;
    };
    queries.start(encodeQuery().appBytes.length, start, client);
    isQueued = true;
  }

  function othersSigned(wasSignedAtFirst: boolean): void {
    for (const validator of tally.warpSet.validators) {
      const { index, nodeIDs } = validator;
      if (failureOf(tally.states[index] as ValidatorState)?.kind !== 'refused') continue;
      if (!wasSignedAtFirst && !lagging.has(validator)) continue;
      for (const nodeID of nodeIDs) if (timesAsked.has(nodeID)) history.failed(nodeID);
    }
  }

  function answers(
    wasSignedAtFirst: boolean,
    isConnected: (validator: WarpValidator) => boolean,
  ): readonly ValidatorAnswer[] {
    return answersOf({
      tally,
      questions,
      isLagging: (validator) => wasSignedAtFirst || lagging.has(validator),
      isConnected,
      nowMs: clock.monotonicMs(),
      lateAfterMs: limits.hedgeAfterMs,
    });
  }

  /** Encoded on first use, once for all validators and attempts. */
  function encodeQuery(): SignatureQuery {
    if (encoded === undefined) {
      const content = { message: message.bytes, justification };
      const { sourceChainID } = message;
      encoded = { ...content, sourceChainID, appBytes: encodeSignatureRequest(content) };
    }
    return encoded;
  }

  function nextNode({ nodeIDs, index }: WarpValidator): NodeID {
    const connected = nodeIDs.filter((nodeID) => source.isConnected(nodeID));
    // Nearly all validators have one node.
    const [next] =
      connected.length < 2
        ? connected
        : connected
            .map((nodeID) => ({
              nodeID,
              times: timesAsked.get(nodeID) ?? 0,
              isDoubtful: Number(history.recordOf(nodeID)?.isDoubtful ?? false),
            }))
            .sort((a, b) => a.times - b.times || a.isDoubtful - b.isDoubtful)
            .map(({ nodeID }) => nodeID);
    if (next === undefined) throw new Error(`asked validator ${index}, which is not connected`);
    timesAsked.set(next, (timesAsked.get(next) ?? 0) + 1);
    return next;
  }

  /** One async function: with thousands of pending requests, each further frame costs garbage collection. */
  async function askNode(validator: WarpValidator, nodeID: NodeID, attempts: number): Promise<void> {
    try {
      over.throwIfAborted();
      const query = encodeQuery();
      const question = begin(validator, nodeID, attempts);
      const { isTrial, lateAtMs, sentAtMs } = question;
      // A trial continues after the collection, to learn whether the validator answers. Large messages are too expensive for
      // that.
      const isApart = isTrial && query.appBytes.length <= LARGE_QUERY_BYTES;
      const bounds = { timeoutMs: limits.peerTimeoutMs, signal: isApart ? new AbortController().signal : over };
      let outcome: AttemptOutcome;
      try {
        const asking = source.requestSignature(nodeID, query, bounds);
        outcome = await (span.isRecorded ? traced(span, { nodeID, attempts }, asking) : asking);
      } catch (error) {
        if (clock.monotonicMs() >= lateAtMs) history.failed(nodeID);
        throw error;
      }
      question.tookMs = clock.monotonicMs() - sentAtMs;
      const excessMs = history.learn(nodeID, outcome, question.tookMs);
      if (excessMs !== undefined) observeDelay('answers', excessMs);
      over.throwIfAborted();
      if (outcome.kind === 'signed') {
        apply(validator.index, { kind: 'answered' });
        const problem = await signatures.take(validator, outcome.signature);
        if (problem === undefined) countOutcome(validator, outcome);
        else failed(validator, { kind: 'invalid_signature', reason: problem });
      } else {
        failed(validator, outcome);
      }
      changes.wake();
    } catch (error) {
      if (!(error instanceof CollectionOver)) changes.fail(error);
    }
  }

  function begin(validator: WarpValidator, nodeID: NodeID, attempts: number) {
    const { index, publicKeyHex } = validator;
    const forecast = tally.forecasts[index];
    const isTrial = forecast?.kind === 'on trial';
    if (isTrial) {
      history.beginTrial(nodeID);
      invalidSigners.beginTrial(publicKeyHex);
    }
    const sentAtMs = clock.monotonicMs();
    const lateAtMs = sentAtMs + (forecast?.hedgeAfterMs ?? limits.hedgeAfterMs);
    apply(index, { kind: 'asked', lateAtMs });
    metrics.signatureRequests.inc();
    // What is asked again while a client waits costs it no points.
    if (attempts === 1 || !times.isWaiting()) asked += 1;
    const question: ValidatorQuestion = { isTrial, lateAtMs, sentAtMs };
    questions.set(index, question);
    return question;
  }

  function failed(validator: WarpValidator, failure: AttemptFailure): void {
    countOutcome(validator, failure);
    if (failure.kind === 'refused' && tally.signedWeight > 0n) lagging.add(validator);
    apply(validator.index, { kind: 'failed', failure, nowMs: clock.monotonicMs() });
  }

  return {
    ask,
    othersSigned,
    answers,
    get asked(): number {
      return asked;
    },
  };
}

async function traced(
  parent: Span,
  { nodeID, attempts }: { readonly nodeID: NodeID; readonly attempts: number },
  asking: Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const span = parent.child('app request', 'client');
  span.set('peer.node_id', nodeID);
  span.set('attempt', attempts);
  let word: string = 'timed_out';
  let reason: string | undefined = 'request_ended';
  try {
    const outcome = await asking;
    word = outcome.kind;
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
