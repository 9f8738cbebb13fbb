import type { LimitFunction } from 'p-limit';
import type { BlsService } from '../bls/aggregation.ts';
import type { Clock } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import { type NodeID, P_CHAIN_ID, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { createWakeUp } from '../primitives/wake-up.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import { checkSigners } from '../validators/verify-signed-message.ts';
import type { WarpSet, WarpValidator } from '../validators/warp-set.ts';
import { encodeSignedMessage } from '../warp/signed-message.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import { afterFailure, planQueries, type QueryLimits } from './query-plan.ts';
import type { PeerFailure, SignatureSource } from './signature-source.ts';
import type { Suspects } from './suspects.ts';
import { createTally, type FlatSummary, summarizeTally, type TallySummary } from './tally.ts';

export interface CollectionLimits extends QueryLimits {
  /** Whole time of one collection. */
  readonly requestTimeoutMs: number;
  /** Time of one attempt at one node. */
  readonly peerTimeoutMs: number;
  /** How long after a subnet was first asked for its validators may still be on their way. */
  readonly connectTimeoutMs: number;
}

export interface CollectionDeps {
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly bls: BlsService;
  /** Over all requests. */
  readonly suspects: Suspects;
  readonly clock: Clock;
  readonly metrics: AggregatorMetrics;
  readonly limits: CollectionLimits;
  /** Bounds the queries in flight over all requests. */
  readonly querying: LimitFunction;
}

export interface CollectionJob {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  readonly signatureKey: string;
  readonly signingSubnetID: SubnetID;
  readonly warpSet: WarpSet;
  /** Canonical indices of validators that are asked only where the others do not suffice. */
  readonly avoided?: ReadonlySet<number>;
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
}

export type CollectionOutcome =
  | {
      readonly kind: 'signed';
      readonly signedMessage: Uint8Array;
      readonly signedWeight: bigint;
      /** In canonical order. */
      readonly signers: readonly WarpValidator[];
      /** Whether the buffer was reached too. */
      readonly isTargetReached: boolean;
    }
  | {
      readonly kind: 'insufficient';
      readonly summary: TallySummary & FlatSummary;
      /** Weight of the validators that could be reached at all, whatever they answered. */
      readonly reachableWeight: bigint;
    };

/**
 * Asks the validators of a set for their signatures, heaviest first, until quorum plus buffer is reached or nothing more can
 * come; aggregates, verifies as a destination would, and puts bad signers aside. At the deadline a result that reaches the
 * quorum is returned; as soon as the quorum is out of reach, the failure is.
 *
 * Rejects only with the signal's reason.
 */
export async function collectSignatures(
  job: CollectionJob,
  deps: CollectionDeps,
  signal: AbortSignal,
): Promise<CollectionOutcome> {
  const { source, store, bls, suspects, clock, metrics, limits, querying } = deps;
  const { warpSet, message, signatureKey } = job;
  const tally = createTally(warpSet, job.quorumNum, job.quorumBuffer, job.avoided);
  const isPChainMessage = message.sourceChainID === P_CHAIN_ID;
  const query = { sourceChainID: message.sourceChainID, message: message.bytes, justification: job.justification };

  using deadline = startDeadline(clock, limits.requestTimeoutMs, 'collecting signatures', signal);
  const startMs = clock.monotonicMs();
  const trackedSinceMs = source.track(
    job.signingSubnetID,
    new Set(warpSet.validators.flatMap(({ nodeIDs }) => nodeIDs)),
  );
  const connectDeadlineMs = Math.max(trackedSinceMs + limits.connectTimeoutMs, startMs + limits.reconnectGraceMs);

  /** Ends the queries still under way when the collection is over. */
  const queries = new AbortController();
  using changes = createWakeUp(clock);
  using aggregation = bls.startAggregation(message.bytes, signal);
  const stopListening = source.onConnectionChange(changes.wake);
  deadline.signal.addEventListener('abort', changes.wake, { once: true });
  try {
    await takeKnownSignatures();
    for (;;) {
      signal.throwIfAborted();
      const isTimeUp = deadline.signal.aborted;
      const plan = planQueries(
        tally,
        { nowMs: clock.monotonicMs(), isConnected: isValidatorConnected, connectDeadlineMs },
        limits,
      );
      if (plan.kind === 'enough' || (isTimeUp && tally.signedWeight >= tally.neededWeight)) {
        const outcome = await finish();
        if (outcome !== undefined) return outcome;
        continue;
      }
      if (plan.kind === 'out of reach' || isTimeUp) return insufficient();
      for (const validator of plan.ask) ask(validator);
      await changes.next(plan.wakeAtMs);
    }
  } finally {
    stopListening();
    deadline.signal.removeEventListener('abort', changes.wake);
    queries.abort(new CollectionOver());
  }

  async function takeKnownSignatures(): Promise<void> {
    const known = await store.getMany(
      signatureKey,
      warpSet.validators.map(({ publicKeyHex }) => publicKeyHex),
    );
    metrics.signatureCacheHits.inc(known.size);
    metrics.signatureCacheMisses.inc(warpSet.validators.length - known.size);
    let weight = 0n;
    const taking: Promise<unknown>[] = [];
    for (const validator of tally.heaviestFirst) {
      // Decoding costs as much as a round trip: no more than are needed.
      if (weight >= tally.targetWeight) break;
      const signature = known.get(validator.publicKeyHex);
      // One to be avoided is asked when all others have been, known or not.
      if (signature === undefined || job.avoided?.has(validator.index)) continue;
      weight += validator.weight;
      taking.push(take(validator, signature));
    }
    await Promise.all(taking);
  }

  function isValidatorConnected(validator: WarpValidator): boolean {
    return validator.nodeIDs.some((nodeID) => source.isConnected(nodeID));
  }

  function ask(validator: WarpValidator): void {
    const before = tally.progress[validator.index];
    const attempts = (before?.kind === 'waiting' ? before.attempts : 0) + 1;
    tally.set(validator.index, { kind: 'asking', sinceMs: clock.monotonicMs(), attempts });
    const connected = validator.nodeIDs.filter((nodeID) => source.isConnected(nodeID));
    const nodeID = connected[(attempts - 1) % connected.length];
    if (nodeID === undefined) throw new Error(`asked validator ${validator.index}, which is not connected`);
    querying(() => askNode(validator, nodeID, attempts)).catch((error: unknown) => {
      if (!(error instanceof CollectionOver)) changes.fail(error);
    });
  }

  async function askNode(validator: WarpValidator, nodeID: NodeID, attempts: number): Promise<void> {
    queries.signal.throwIfAborted();
    metrics.appRequests.inc();
    const outcome = await source.requestSignature(nodeID, query, {
      timeoutMs: limits.peerTimeoutMs,
      signal: queries.signal,
    });
    queries.signal.throwIfAborted();
    if (outcome.kind === 'signature') {
      tally.set(validator.index, { kind: 'answered' });
      const problem = await take(validator, outcome.signature);
      if (problem !== undefined) failed({ kind: 'invalid signature', reason: problem });
    } else {
      failed(outcome);
    }
    changes.wake();

    function failed(failure: PeerFailure): void {
      metrics.countFailure(failure);
      const context = {
        attempts,
        nodeCount: validator.nodeIDs.length,
        nowMs: clock.monotonicMs(),
        isPChainMessage,
      };
      tally.set(validator.index, afterFailure(failure, context, limits));
    }
  }

  /** Into the aggregate and the tally; gives what is wrong with a signature that does not get there. */
  async function take(validator: WarpValidator, signature: Uint8Array): Promise<string | undefined> {
    if (suspects.has(validator.publicKeyHex)) {
      const isGood = await aggregation.verifyAlone(validator, signature);
      queries.signal.throwIfAborted();
      if (!isGood) {
        caught(validator);
        return NOT_ITS_SIGNATURE;
      }
      suspects.clear(validator.publicKeyHex);
    }
    const outcome = await aggregation.add(validator, signature);
    queries.signal.throwIfAborted();
    if (outcome instanceof ParseError) return outcome.reason;
    if (outcome === 'over') throw new CollectionOver();
    tally.set(validator.index, { kind: 'signed', signature });
    return undefined;
  }

  function caught(validator: WarpValidator): void {
    metrics.badSigners.inc();
    suspects.add(validator.publicKeyHex);
  }

  /** The verified result, or undefined where bad signers had to be put aside. */
  async function finish(): Promise<CollectionOutcome | undefined> {
    const aggregate = await aggregation.aggregate();
    const signedMessage = encodeSignedMessage({ unsignedMessage: message, signature: aggregate });
    const check = checkSigners(signedMessage, { networkID: message.networkID, warpSet, quorumNum: job.quorumNum });
    // Parsed from what was just encoded, with the weight already counted: only a signature can be at fault.
    if (check.kind === 'invalid') throw new Error(`the signed message just made is refused: ${check.reason}`);
    const { validators: signers, signedWeight } = check;
    if (await aggregation.verify(check, check.unsignedMessage.bytes)) {
      await Promise.all(signers.map(keep));
      const isTargetReached = signedWeight >= tally.targetWeight;
      return { kind: 'signed', signedMessage, signedWeight, signers, isTargetReached };
    }
    // Time of its own: at the deadline, a bad signature must not cost the good ones that make up the quorum.
    using searching = startDeadline(clock, MAX_SEARCH_MS, 'finding bad signers', signal);
    const { bad, uncleared } = await aggregation.findBadSigners(searching.signal);
    for (const index of bad) {
      caught(validatorAt(index));
      await putAside(index, NOT_ITS_SIGNATURE);
    }
    for (const index of uncleared) await putAside(index, 'could not be told from a bad one in time');
    return undefined;
  }

  async function keep({ index, publicKeyHex }: WarpValidator): Promise<void> {
    const progress = tally.progress[index];
    if (progress?.kind === 'signed') await store.put(signatureKey, publicKeyHex, progress.signature);
  }

  async function putAside(index: number, reason: string): Promise<void> {
    const failure: PeerFailure = { kind: 'invalid signature', reason };
    metrics.countFailure(failure);
    aggregation.remove(index);
    tally.set(index, { kind: 'failed', failure });
    await store.delete(signatureKey, validatorAt(index).publicKeyHex);
  }

  function validatorAt(index: number): WarpValidator {
    const validator = warpSet.validators[index];
    if (validator === undefined) throw new RangeError(`no validator ${index}`);
    return validator;
  }

  function insufficient(): CollectionOutcome {
    const summary = summarizeTally(tally, (validator) =>
      isValidatorConnected(validator) ? undefined : source.whyUnreachable(validator.nodeIDs[0] as NodeID),
    );
    const reachableWeight = warpSet.totalWeight - summary.withoutKey.weight - summary.unreachable.weight;
    return { kind: 'insufficient', summary, reachableWeight };
  }
}

/**
 * Some hundred checks: one bad signer among 1,000 takes about 20. Who is not cleared by then is put aside too, so that a crowd
 * of bad signers cannot keep the service busy for minutes.
 */
const MAX_SEARCH_MS = 2_000;

const NOT_ITS_SIGNATURE = 'is not its signature of this message';

/** Why queries end whose answers nobody needs any more. */
class CollectionOver extends Error {
  override readonly name = 'CollectionOver';
}
