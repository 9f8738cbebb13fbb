import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { BlsService } from '../bls/aggregation.ts';
import { JobsOverloaded } from '../bls/job-runner.ts';
import { ApiError } from '../pchain/api-error.ts';
import type { EpochHeights } from '../pchain/epoch-heights.ts';
import type { SubnetDirectory } from '../pchain/subnet-directory.ts';
import type { ValidatorFunds } from '../pchain/validator-funds.ts';
import { HeightNotReached, type ValidatorSets } from '../pchain/validator-sets.ts';
import type { Clock } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import type { WarpSet } from '../validators/warp-set.ts';
import { parseSignedMessage } from '../warp/signed-message.ts';
import {
  type AggregationRequest,
  type AggregationResult,
  type Destination,
  requestKey,
  signatureKey,
} from './aggregation-request.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from './aggregator-metrics.ts';
import { type CollectionDeps, type CollectionLimits, collectSignatures } from './collect-signatures.ts';
import type { SignatureSource } from './signature-source.ts';
import { createSuspects } from './suspects.ts';
import type { TallySummary, WeightCount } from './tally.ts';

export interface AggregatorLimits extends CollectionLimits {
  /** Different aggregations under way at once; one more is refused as overloaded. Equal ones count once. */
  readonly maxAggregationsInFlight: number;
  /** Signature requests in flight over all aggregations. */
  readonly maxQueriesInFlight: number;
  /** Time for all questions to the P-Chain API that one request has. */
  readonly resolveTimeoutMs: number;
  /** Bytes of signed messages kept for equal requests. */
  readonly resultCacheBytes: number;
}

export interface AggregatorOptions {
  readonly networkID: number;
  readonly directory: SubnetDirectory;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly epochs: EpochHeights;
  readonly funds: ValidatorFunds;
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly bls: BlsService;
  readonly clock: Clock;
  readonly metrics: AggregatorMetrics;
  readonly limits: AggregatorLimits;
}

export interface Aggregator {
  /**
   * The signed message for a request. Equal requests under way share one run; a caller's abort ends only its own wait.
   *
   * @throws {AggregatorError}, or the signal's reason
   */
  aggregate(request: AggregationRequest, signal: AbortSignal): Promise<AggregationResult>;
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { networkID, directory, validatorSets, epochs, funds, metrics, limits, clock } = options;
  const flights = new SingleFlight<string, AggregationResult>();
  const results = new LRUCache<string, AggregationResult>({
    maxSize: limits.resultCacheBytes,
    sizeCalculation: ({ signedMessage, signers }) => signedMessage.length + 8 * signers.length + RESULT_OVERHEAD_BYTES,
  });
  const nameOf = createObjectNames();
  const collection: CollectionDeps = {
    ...options,
    suspects: createSuspects(options.clock),
    querying: pLimit(limits.maxQueriesInFlight),
  };

  async function aggregate(request: AggregationRequest, signal: AbortSignal): Promise<AggregationResult> {
    const startMs = clock.monotonicMs();
    metrics.inFlight.inc();
    let outcome: RequestOutcome = 'internal error';
    try {
      const result = await run(request, signal);
      outcome = 'signed';
      return result;
    } catch (error) {
      if (error instanceof AggregatorError) outcome = error.code;
      else if (signal.aborted) outcome = 'aborted';
      throw error;
    } finally {
      metrics.inFlight.dec();
      metrics.duration.observe({ outcome }, (clock.monotonicMs() - startMs) / 1000);
    }
  }

  async function run(request: AggregationRequest, signal: AbortSignal): Promise<AggregationResult> {
    let signing = await resolve(request, signal);
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await sign(request, signing, signal);
      // A known result took no time in which anything could change.
      if (!isNew || request.pChainHeight !== 0n || rebuilds === MAX_REBUILDS) return result;
      const now = await resolveAgain(request, signing, signal);
      if (now.warpSet === signing.warpSet) return result;
      // The validators changed meanwhile, and the bits would mean others. Most signatures are in the store by now.
      signing = now;
    }
  }

  async function sign(
    request: AggregationRequest,
    signing: Signing,
    signal: AbortSignal,
  ): Promise<{ result: AggregationResult; isNew: boolean }> {
    const { signingSubnetID, pChainHeight, warpSet, avoided } = signing;
    const resolved = { ...request, signingSubnetID };
    // A validator set is one object for all heights at which it is the same: so is the answer.
    const resultKey = `${requestKey({ ...resolved, pChainHeight: 0n })}|${nameOf(warpSet)}|${[...avoided].join(',')}`;
    const known = results.get(resultKey);
    if (known !== undefined) {
      metrics.resultCacheHits.inc();
      return { result: { ...known, pChainHeight }, isNew: false };
    }
    if (flights.size >= limits.maxAggregationsInFlight && !flights.has(resultKey)) {
      throw new AggregatorError(
        'overloaded',
        `${limits.maxAggregationsInFlight} aggregations are under way, which is all this service takes at once`,
      );
    }
    const result = await flights.run(
      resultKey,
      async (flight) => {
        const made = await collect(resolved, signing, flight);
        if (made.isTargetReached) results.set(resultKey, made.result);
        return made.result;
      },
      signal,
    );
    return { result: { ...result, pChainHeight }, isNew: true };
  }

  /** Who must sign, at which height. */
  async function resolve(request: AggregationRequest, parent: AbortSignal): Promise<Signing> {
    if (request.message.networkID !== networkID) {
      throw new AggregatorError(
        'invalid request',
        `message is of network ID ${request.message.networkID}, this service serves network ID ${networkID}`,
        { field: 'message' },
      );
    }
    using deadline = startDeadline(clock, limits.resolveTimeoutMs, 'asking the P-Chain API', parent);
    const { signal } = deadline;
    try {
      const sourceSubnetID = await directory.validatedBy(request.message.sourceChainID, signal);
      if (sourceSubnetID === undefined) {
        throw new AggregatorError(
          'unknown source chain',
          `message has the source chain ${request.message.sourceChainID}, which the P-Chain does not know`,
          { field: 'message' },
        );
      }
      const signingSubnetID = request.signingSubnetID ?? sourceSubnetID;
      return { ...(await chooseHeight(request, signingSubnetID, signal)), sourceSubnetID };
    } catch (error) {
      parent.throwIfAborted();
      throw fromApi(error, request, signal);
    }
  }

  async function chooseHeight(
    { pChainHeight, destination }: AggregationRequest,
    signingSubnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<SignersAtHeight> {
    const isPinned = pChainHeight !== 0n;
    if (isPinned) return signingAt(signingSubnetID, pChainHeight, isPinned, signal);
    if (destination !== undefined) {
      const signing = await signingInEpoch(signingSubnetID, destination, signal);
      if (signing !== undefined) return signing;
    }
    const height = await validatorSets.proposedHeight(signal);
    const [signing, runningOut] = await Promise.all([
      signingAt(signingSubnetID, height, isPinned, signal),
      findRunningOut(signingSubnetID, signal),
    ]);
    return { ...signing, avoided: indicesOf(signing.warpSet, runningOut) };
  }

  /** As {@link resolve}, after the fact: a failure to ask once more does not undo what was signed. */
  async function resolveAgain(request: AggregationRequest, before: Signing, signal: AbortSignal): Promise<Signing> {
    try {
      return await resolve(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AggregatorError) return before;
      throw error;
    }
  }

  async function signingAt(
    signingSubnetID: SubnetID,
    pChainHeight: bigint,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<SignersAtHeight> {
    const warpSet = await validatorSets.at(signingSubnetID, pChainHeight, signal);
    if (warpSet.totalWeight === 0n) throw await withoutValidators(signingSubnetID, pChainHeight, isPinned, signal);
    return { signingSubnetID, pChainHeight, warpSet, avoided: NOBODY };
  }

  /** Undefined where the proposed height is to be used. */
  async function signingInEpoch(
    signingSubnetID: SubnetID,
    destination: Destination,
    signal: AbortSignal,
  ): Promise<SignersAtHeight | undefined> {
    const height = await epochHeight(destination, signal);
    if (height === undefined) return undefined;
    const warpSet = await validatorSets.at(signingSubnetID, height, signal);
    if (warpSet.totalWeight > 0n) return { signingSubnetID, pChainHeight: height, warpSet, avoided: NOBODY };
    // The epoch began before the signing subnet had any validators, as right after a conversion: no message can pass in it.
    // At the proposed height there are some, and a message signed there will do once an epoch begins that has them.
    if (!destination.isRequired) return undefined;
    if (!(await directory.exists(signingSubnetID, signal))) return undefined;
    throw new AggregatorError(
      'no validators yet',
      `destinationBlockchainId: the epoch of blockchain ${destination.chainID} is of P-Chain height ${height}, at which subnet ` +
        `${signingSubnetID} has no validators; try again when its next epoch has begun`,
      { field: 'destinationBlockchainId' },
    );
  }

  async function epochHeight({ chainID, isRequired }: Destination, signal: AbortSignal): Promise<bigint | undefined> {
    if (isRequired && (await directory.validatedBy(chainID, signal)) === undefined) {
      throw new AggregatorError(
        'invalid request',
        `destinationBlockchainId: the P-Chain knows no blockchain ${chainID}`,
        { field: 'destinationBlockchainId' },
      );
    }
    const timeoutMs = isRequired ? limits.resolveTimeoutMs : OPTIONAL_QUESTION_MS;
    using deadline = startDeadline(clock, timeoutMs, "asking for the destination's epoch", signal);
    try {
      return await epochs.heightOf(chainID, deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isRequired && (error instanceof ApiError || deadline.signal.aborted)) return undefined;
      if (!(error instanceof ApiError) || error.kind === 'unavailable') throw error;
      throw new AggregatorError(
        'invalid request',
        `destinationBlockchainId: the configured API does not tell the epoch of blockchain ${chainID} (${error.message}); ` +
          'give pChainHeight instead',
        { field: 'destinationBlockchainId', cause: error },
      );
    }
  }

  /** Those that may not be in the set any more when the message arrives. */
  async function findRunningOut(subnetID: SubnetID, signal: AbortSignal): Promise<ReadonlySet<NodeID>> {
    using deadline = startDeadline(clock, OPTIONAL_QUESTION_MS, 'asking for balances', signal);
    try {
      return await funds.runningOut(subnetID, deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      // Without balances nobody is avoided, as if all were well.
      if (error instanceof ApiError || deadline.signal.aborted) return NO_NODES;
      throw error;
    }
  }

  async function withoutValidators(
    subnetID: SubnetID,
    height: bigint,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<AggregatorError> {
    const field = 'signingSubnetId';
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) {
      return new AggregatorError('unknown subnet', `${field}: the P-Chain knows no subnet ${subnetID}`, { field });
    }
    if (!isPinned && subnet.conversionID !== undefined) {
      return new AggregatorError(
        'no validators yet',
        `${field}: L1 ${subnetID} has no validators at P-Chain height ${height}, the one proposed now, which trails its ` +
          'conversion; try again in a moment',
        { field },
      );
    }
    return new AggregatorError(
      'invalid request',
      `${field}: subnet ${subnetID} has no validators at P-Chain height ${height}`,
      { field },
    );
  }

  async function collect(
    request: AggregationRequest & { readonly signingSubnetID: SubnetID },
    { sourceSubnetID, warpSet, pChainHeight, avoided }: Signing,
    signal: AbortSignal,
  ): Promise<{ result: AggregationResult; isTargetReached: boolean }> {
    const { message, justification, signingSubnetID, quorumNum, quorumBuffer } = request;
    const outcome = await collectSignatures(
      {
        message,
        justification,
        signatureKey: signatureKey(request),
        signingSubnetID,
        warpSet,
        avoided,
        quorumNum,
        quorumBuffer,
      },
      collection,
      signal,
    ).catch((error: unknown) => {
      if (error instanceof JobsOverloaded) throw new AggregatorError('overloaded', error.message, { cause: error });
      throw error;
    });
    switch (outcome.kind) {
      case 'signed': {
        const { signedMessage, signedWeight, isTargetReached } = outcome;
        const { totalWeight } = warpSet;
        return {
          result: {
            signedMessage,
            signingSubnetID,
            pChainHeight,
            signedWeight,
            totalWeight,
            signers: signersOf(signedMessage, warpSet),
          },
          isTargetReached,
        };
      }
      case 'insufficient': {
        const { summary: details, reachableWeight } = outcome;
        // Validators that are out of reach may be back in a moment; ones that refuse, or cannot sign, will not change.
        const isForWantOfConnections =
          reachableWeight < details.neededWeight &&
          details.totalWeight - details.withoutKey.weight >= details.neededWeight;
        if (isForWantOfConnections) throw new AggregatorError('not connected', notConnected(details), { details });
        const isOfL1 = sourceSubnetID !== PRIMARY_NETWORK_ID;
        throw new AggregatorError('insufficient weight', insufficientWeight(quorumNum, isOfL1, details), { details });
      }
    }
  }

  return { aggregate };
}

interface Signing extends SignersAtHeight {
  /** The subnet of the message's source chain. */
  readonly sourceSubnetID: SubnetID;
}

/** Who must sign, and whose bits mean whom. */
interface SignersAtHeight {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
  /** Canonical indices. */
  readonly avoided: ReadonlySet<number>;
}

const NOBODY: ReadonlySet<number> = new Set();
const NO_NODES: ReadonlySet<NodeID> = new Set();
/** Sets change with some blocks, and a block takes seconds: more than two changes in one request are not to be waited for. */
const MAX_REBUILDS = 2;
/** For what makes an answer better, and is not needed for one. */
const OPTIONAL_QUESTION_MS = 1_500;

/** Canonical indices of the validators all of whose nodes are among these. */
function indicesOf({ validators }: WarpSet, nodeIDs: ReadonlySet<NodeID>): ReadonlySet<number> {
  if (nodeIDs.size === 0) return NOBODY;
  const all = validators.filter((validator) => validator.nodeIDs.every((nodeID) => nodeIDs.has(nodeID)));
  return new Set(all.map(({ index }) => index));
}

function signersOf(signedMessage: Uint8Array, warpSet: WarpSet): NodeID[] {
  return parseSignedMessage(signedMessage).signature.signers.flatMap(
    (index) => warpSet.validators[index]?.nodeIDs[0] ?? [],
  );
}

/** An answer's fields beside the message; the names of the signers are those of the validator set. */
const RESULT_OVERHEAD_BYTES = 512;

/** Clients look for "threshold of stake" and for the inequality: both are part of the interface. */
function insufficientWeight(quorumNum: bigint, isOfL1: boolean, summary: TallySummary): string {
  const { totalWeight, signedWeight } = summary;
  // At a quorum of 0 the inequality would be false: what is missing there is any signature at all.
  const inequality = quorumNum === 0n ? 'nobody signed' : `${quorumNum}*${totalWeight} > 100*${signedWeight}`;
  const reason = mainReason(isOfL1, summary);
  return `failed to collect a threshold of stake: signature weight is insufficient: ${inequality}${reason}`;
}

function notConnected({ neededWeight, totalWeight, unreachable, withoutKey }: TallySummary): string {
  const reachable = totalWeight - unreachable.weight - withoutKey.weight;
  const [main] = unreachable.reasons;
  const why = main === undefined ? '' : ` (refused or unreachable: ${main.reason})`;
  return (
    `too little weight is connected: the quorum needs ${neededWeight} of ${totalWeight}, ${reachable} can be reached, ` +
    `${unreachable.weight} cannot${why}; try again in a moment`
  );
}

/** The heaviest cause, in words, so that a person who sees only the message knows where to look. */
function mainReason(isOfL1: boolean, summary: TallySummary): string {
  const {
    neededWeight,
    signedWeight,
    refused,
    timedOut,
    ignored,
    unreachable,
    invalidSignature,
    unanswered,
    withoutKey,
  } = summary;
  const [refusal] = refused.reasons;
  // Those still asked when the quorum was lost already are not to blame for it.
  const isQuorumOpen = signedWeight + unanswered.weight >= neededWeight;
  const silent = add([timedOut, ...(isOfL1 ? [] : [ignored]), ...(isQuorumOpen ? [unanswered] : [])]);
  const causes = [
    { weight: refused.weight, text: refusal && `refused by ${refused.count}: ${refusal.text} (code ${refusal.code})` },
    { weight: silent.weight, text: `no answer from ${silent.count}` },
    { weight: isOfL1 ? ignored.weight : 0n, text: `${ignored.count} refused or unreachable: ${NOT_ADMITTED}` },
    {
      weight: unreachable.weight,
      text: `${unreachable.count} refused or unreachable: ${unreachable.reasons[0]?.reason}`,
    },
    { weight: invalidSignature.weight, text: `invalid signatures from ${invalidSignature.count}` },
    { weight: withoutKey.weight, text: `${withoutKey.count} without an active BLS key` },
  ];
  const heaviest = causes.reduce((a, b) => (b.weight > a.weight ? b : a));
  return heaviest.weight > 0n ? ` (${heaviest.text})` : '';
}

/** What the silence of nodes means that answer a Ping meanwhile. Every primary-network validator runs the primary chains. */
const NOT_ADMITTED =
  "not admitted: connected, but silent about this blockchain; they may run it for the peers on their subnet's list only " +
  '(validatorOnly, allowedNodes), or not at all';

function add(counts: readonly WeightCount[]): WeightCount {
  return counts.reduce((a, b) => ({ weight: a.weight + b.weight, count: a.count + b.count }));
}

function fromApi(error: unknown, request: AggregationRequest, signal: AbortSignal): unknown {
  if (error instanceof HeightNotReached) {
    if (request.pChainHeight === 0n) {
      return new AggregatorError('api unavailable', `a P-Chain API node lags behind: ${error.message}`, {
        cause: error,
      });
    }
    return new AggregatorError('invalid request', `pChainHeight: ${error.message}`, {
      field: 'pChainHeight',
      cause: error,
    });
  }
  if (error instanceof ParseError) {
    return new AggregatorError('api invalid', `the P-Chain API gave a ${error.message}`, { cause: error });
  }
  if (error instanceof ApiError) {
    const code = error.kind === 'unavailable' ? 'api unavailable' : 'api invalid';
    return new AggregatorError(code, `the P-Chain API failed: ${error.message}`, { cause: error });
  }
  if (signal.aborted && error === signal.reason) {
    return new AggregatorError('api unavailable', 'the P-Chain API did not answer in time', { cause: error });
  }
  return error;
}

/** Names for objects, so that identity can be part of a text key. Holds no object alive. */
function createObjectNames(): (object: object) => number {
  const names = new WeakMap<object, number>();
  let last = 0;
  return (object) => {
    const known = names.get(object);
    if (known !== undefined) return known;
    last += 1;
    names.set(object, last);
    return last;
  };
}
