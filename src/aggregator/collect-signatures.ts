import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LimitFunction } from 'p-limit';
import type { BlsBackend, HashedMessage, Signature } from '../bls/bls-backend.ts';
import { findBadSigners } from '../bls/find-bad-signers.ts';
import type { PublicKeyCache } from '../bls/public-key-cache.ts';
import type { Clock } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import { type NodeID, P_CHAIN_ID, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { createWakeUp } from '../primitives/wake-up.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import { verifySignedMessage } from '../validators/verify-signed-message.ts';
import type { WarpSet, WarpValidator } from '../validators/warp-set.ts';
import { encodeSignedMessage } from '../warp/signed-message.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import { afterFailure, planQueries, type QueryLimits } from './query-plan.ts';
import type { PeerFailure, SignatureSource } from './signature-source.ts';
import { createTally, summarizeTally, type TallySummary } from './tally.ts';

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
  readonly backend: BlsBackend;
  readonly publicKeys: PublicKeyCache;
  readonly clock: Clock;
  readonly metrics: AggregatorMetrics;
  readonly limits: CollectionLimits;
  /** Bounds the queries in flight over all requests. */
  readonly querying: LimitFunction;
  /** Decodes one point a turn of the event loop, over all requests: a burst of answers must not hold it up. */
  readonly decoding: LimitFunction;
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
      readonly signerCount: number;
      /** Whether the buffer was reached too. */
      readonly isTargetReached: boolean;
    }
  | {
      readonly kind: 'insufficient';
      readonly summary: TallySummary;
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
  const { source, store, backend, publicKeys, clock, metrics, limits, querying, decoding } = deps;
  const { warpSet, message, signatureKey } = job;
  const tally = createTally(warpSet, job.quorumNum, job.quorumBuffer, job.avoided);
  const isPChainMessage = message.sourceChainID === P_CHAIN_ID;
  const query = { sourceChainID: message.sourceChainID, message: message.bytes, justification: job.justification };
  let hashed: HashedMessage | undefined;

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
      if (plan.ask.length > 0) void hashMessage();
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
    for (const validator of tally.heaviestFirst) {
      // Decoding costs as much as a round trip: no more than are needed.
      if (tally.signedWeight >= tally.targetWeight || deadline.signal.aborted) return;
      const signature = known.get(validator.publicKeyHex);
      // One to be avoided is asked when all others have been, known or not.
      if (signature === undefined || job.avoided?.has(validator.index)) continue;
      const point = await decode(validator, signature);
      if (!(point instanceof ParseError)) tally.set(validator.index, { kind: 'signed', signature, point });
    }
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
      const point = await decode(validator, outcome.signature);
      if (point instanceof ParseError) failed({ kind: 'invalid signature', reason: point.reason });
      else tally.set(validator.index, { kind: 'signed', signature: outcome.signature, point });
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

  /** The point, with the signer's public key decoded beside it, so that the last check finds both ready. */
  function decode(validator: WarpValidator, signature: Uint8Array): Promise<Signature | ParseError> {
    return decoding(async () => {
      await nextTurn();
      // Answers that nobody needs any more must not hold up those of other requests.
      queries.signal.throwIfAborted();
      try {
        publicKeys.get(validator.publicKeyHex, validator.publicKey);
        return backend.parseSignature(signature);
      } catch (error) {
        if (error instanceof ParseError) return error;
        throw error;
      }
    });
  }

  async function hashMessage(): Promise<HashedMessage> {
    // The queries go out first, and the hash is computed while they are under way.
    if (hashed === undefined) await nextTurn();
    hashed ??= backend.hashToCurve(message.bytes);
    return hashed;
  }

  /** The verified result, or undefined where bad signers had to be put aside. */
  async function finish(): Promise<CollectionOutcome | undefined> {
    const signers = warpSet.validators.flatMap((validator) => {
      const progress = tally.progress[validator.index];
      return progress?.kind === 'signed' ? [{ validator, ...progress }] : [];
    });
    const isTargetReached = tally.signedWeight >= tally.targetWeight;
    const signedMessage = encodeSignedMessage({
      unsignedMessage: message,
      signature: {
        signers: signers.map(({ validator }) => validator.index),
        signature: backend.encodeSignature(backend.aggregateSignatures(signers.map(({ point }) => point))),
      },
    });
    const hashedMessage = await hashMessage();
    const verification = verifySignedMessage(
      signedMessage,
      { networkID: message.networkID, warpSet, quorumNum: job.quorumNum },
      { backend, publicKeys },
      hashedMessage,
    );
    if (verification.kind === 'valid') {
      await Promise.all(
        signers.map(({ validator, signature }) => store.put(signatureKey, validator.publicKeyHex, signature)),
      );
      const { signedWeight } = verification;
      return { kind: 'signed', signedMessage, signedWeight, signerCount: signers.length, isTargetReached };
    }
    // Parsed from what was just encoded, with the weight already counted: only a signature can be at fault. An aggregate at
    // infinity does not even parse, and is the same case.
    if (verification.reason !== 'wrong signature' && verification.reason !== 'malformed signature') {
      throw new Error(`the signed message just made is refused: ${verification.reason}`);
    }
    const contributions = signers.map(({ validator, point }) => ({
      publicKey: publicKeys.get(validator.publicKeyHex, validator.publicKey),
      signature: point,
    }));
    const { bad, uncleared } = await findBadSigners(backend, hashedMessage, contributions, {
      yieldTurn: () => nextTurn(),
      signal: deadline.signal,
    });
    for (const position of bad) await putAside(position, 'is not its signature of this message');
    for (const position of uncleared) await putAside(position, 'could not be told from a bad one in time');
    return undefined;

    async function putAside(position: number, reason: string): Promise<void> {
      const signer = signers[position];
      if (signer === undefined) throw new RangeError(`no signer ${position}`);
      const failure: PeerFailure = { kind: 'invalid signature', reason };
      metrics.countFailure(failure);
      tally.set(signer.validator.index, { kind: 'failed', failure });
      await store.delete(signatureKey, signer.validator.publicKeyHex);
    }
  }

  function insufficient(): CollectionOutcome {
    const summary = summarizeTally(tally, (validator) =>
      isValidatorConnected(validator) ? undefined : source.whyUnreachable(validator.nodeIDs[0] as NodeID),
    );
    const reachableWeight = warpSet.totalWeight - summary.withoutKey.weight - summary.unreachable.weight;
    return { kind: 'insufficient', summary, reachableWeight };
  }
}

/** Why queries end whose answers nobody needs any more. */
class CollectionOver extends Error {
  override readonly name = 'CollectionOver';
}
