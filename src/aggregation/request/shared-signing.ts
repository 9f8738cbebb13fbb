import { LRUCache } from 'lru-cache';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { DistributedSingleFlight, SingleFlightTask } from '../../store/redis/distributed-single-flight.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import { type NodeID, PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import type { Admission } from '../admission/admission.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { collectSignatures } from '../collection/collect-signatures.ts';
import { CollectionCallers, type Insufficient } from '../collection/collection-callers.ts';
import { describeFailure } from '../collection/collection-failure.ts';
import type { CollectionDeps } from '../collection/collection-job.ts';
import { ProgressFeed } from '../collection/progress.ts';
import { createTally, summarizeTally } from '../collection/tally.ts';
import type { AggregationResult } from './aggregation-request.ts';
import type { SettledRequest } from './complete-request.ts';
import { createNegativeCache } from './negative-cache.ts';
import { resultKey, signatureKey } from './result-key.ts';
import {
  type Collection,
  collectionPermit,
  joinCollection,
  passStages,
  SharedRun,
  type Wait,
  type Waiter,
} from './shared-collection.ts';
import { type Ending, toResult, toShared, verifiedResult } from './shared-outcome.ts';
import type { Signing } from './signing-resolver.ts';

export interface SharedSigningOptions extends Omit<CollectionDeps, 'queries' | 'scheduler'> {
  readonly admission: Pick<Admission, 'admit' | 'run'>;
  readonly penalties: Penalties;
  readonly distributedFlights?: DistributedSingleFlight | undefined;
}

/**
 * Signs for a known validator set. Equal requests of this process share one flight, which is one collection or, with a shared store
 * (`distributedFlights`), the wait for that of another replica. Endings are cached.
 */
export class SharedSigning {
  readonly #options: SharedSigningOptions;
  readonly #queries: QueryConcurrency;
  readonly #scheduler: EventLoopScheduler;
  readonly #flights = new SingleFlight<string, AggregationResult>();
  readonly #running = new Map<string, Collection>();
  readonly #results: LRUCache<string, AggregationResult>;
  readonly #failures: ReturnType<typeof createNegativeCache>;

  constructor(options: SharedSigningOptions) {
    const { clock, metrics, limits } = options;
    this.#options = options;
    this.#queries = new QueryConcurrency({ clock, maxQueries: limits.maxQueriesInFlight });
    metrics.showQueries(this.#queries);
    this.#scheduler = new EventLoopScheduler(clock, 1);
    this.#results = new LRUCache({ maxSize: limits.resultCacheBytes, sizeCalculation: sizeOf });
    this.#failures = createNegativeCache(clock);
  }

  known(request: SettledRequest, signing: Signing): AggregationResult | undefined {
    return this.#find(resultKey(request, signing), signing);
  }

  async sign(request: SettledRequest, signing: Signing, waiter: Waiter, wait: Wait): Promise<Signed> {
    const { clock } = this.#options;
    const { pChainHeight } = signing;
    const key = resultKey(request, signing);
    const cached = this.#find(key, signing);
    if (cached !== undefined) return { result: cached, isNew: false };
    const joinedMs = clock.monotonicMs();
    const failure = this.#unreachableQuorum(request, signing) ?? this.#recentFailure(key, signing, wait);
    if (failure !== undefined) throw failure;
    const own = new AbortController();
    const fail = (outcome: Insufficient): void =>
      own.abort(this.#failed(key, { ...request, ...signing }, outcome).error);
    const signed = this.#flights.run(
      key,
      (flight) => this.#startFlight({ key, request, signing }, waiter, flight),
      AbortSignal.any([waiter.signal, own.signal]),
    );
    // The flight has begun, so its collection exists.
    const collection = this.#running.get(key);
    const leave = collection && joinCollection(collection, { joinedMs, pChainHeight, waiter, wait, fail });
    try {
      return { result: resultAt(pChainHeight, await signed), isNew: true };
    } catch (error) {
      throw error instanceof AggregatorError ? atHeight(error, pChainHeight) : error;
    } finally {
      leave?.();
      if (collection !== undefined) passStages(collection.stages, joinedMs, clock.monotonicMs(), waiter, wait);
    }
  }

  /** Returns the failure of an equal request, except one that may pass while this one waits. */
  #recentFailure(key: string, { warpSet, pChainHeight }: Signing, wait: Wait): AggregatorError | undefined {
    const { clock, metrics } = this.#options;
    const failure = this.#failures.find(key, () => this.#connectedWeightOf(warpSet));
    if (failure === undefined || (clock.monotonicMs() < wait.untilMs && isPassing(failure))) return undefined;
    metrics.rememberedFailures.inc({ code: failure.code });
    return atHeight(failure, pChainHeight);
  }

  #startFlight(
    flight: Flight,
    { client, span: parent = NO_SPAN }: Waiter,
    signal: AbortSignal,
  ): Promise<AggregationResult> {
    const span = startSpan(flight.signing, parent);
    return inSpan(span, () => this.#fly(flight, client, span, signal));
  }

  async #fly(
    { key, request, signing }: Flight,
    client: string | undefined,
    span: Span,
    signal: AbortSignal,
  ): Promise<AggregationResult> {
    const { admission, clock, distributedFlights, penalties, source } = this.#options;
    penalties.requireSignable(client, request.message.sourceChainID);
    using admitted = admission.admit({ client, subnetID: signing.signingSubnetID });
    const progress = new ProgressFeed({ ...signing, isConnected: (nodeID) => source.isConnected(nodeID) });
    const callers = new CollectionCallers();
    const run = new SharedRun(admission, client);
    const collection: Collection = { progress, run, admitted, callers, stages: [], span };
    const startMs = clock.monotonicMs();
    this.#running.set(key, collection);
    const task = this.#taskOf({ key, request, signing }, collection, startMs, signal);
    try {
      const ended =
        distributedFlights === undefined ? task.work() : distributedFlights.run(`work:${key}`, task, signal);
      const ending = await unlessThreadsOverloaded(ended);
      if (ending.kind === 'failed') throw ending.error;
      return ending.result;
    } finally {
      // After all clients have left, another flight may have the same key.
      if (this.#running.get(key) === collection) this.#running.delete(key);
    }
  }

  #taskOf(
    { key, request, signing }: Flight,
    collection: Collection,
    startMs: number,
    signal: AbortSignal,
  ): SingleFlightTask<Ending> {
    const { bls, limits } = this.#options;
    return {
      patienceMs: () => collection.callers.first(startMs) - startMs + WAITING_SHARE * limits.requestTimeoutMs,
      work: () => this.#collect(key, { ...request, ...signing }, collection, startMs, signal),
      share: toShared,
      accept: async (bytes) => {
        const ending = await verifiedResult(bytes, request, signing, bls, signal);
        return ending && this.#keep(key, ending);
      },
    };
  }

  async #collect(
    key: string,
    request: SettledRequest & Signing,
    { run, admitted, ...collection }: Collection,
    flightMs: number,
    signal: AbortSignal,
  ): Promise<Ending> {
    const { clock, limits, penalties } = this.#options;
    // Time spent waiting for another replica. A collection has the rest.
    const spentMs = Math.max(0, clock.monotonicMs() - collection.callers.first(flightMs));
    const check = (client: string | undefined): void =>
      penalties.requireSignable(client, request.message.sourceChainID);
    using running = await run.acquire(request.signingSubnetID, check, signal);
    const { client } = running;
    const permit = collectionPermit(running, admitted, bytesToWait(request));
    const job = { ...request, ...collection, signatureKey: signatureKey(request), client, permit };
    const requestTimeoutMs = Math.max(0, limits.requestTimeoutMs - spentMs);
    const repeatForMs = Math.max(0, limits.repeatForMs - spentMs);
    const deps = {
      ...this.#options,
      queries: this.#queries,
      scheduler: this.#scheduler,
      limits: { ...limits, requestTimeoutMs, repeatForMs },
    };
    const outcome = await collectSignatures(job, deps, signal);
    if (outcome.kind === 'insufficient') return this.#failed(key, request, outcome);
    const { isTargetReached } = outcome;
    return this.#keep(key, { kind: 'signed', result: toResult(request, outcome), isTargetReached });
  }

  #failed(key: string, request: SettledRequest & Signing, outcome: Insufficient) {
    const error = toError(request, outcome);
    this.#failures.remember(key, error, this.#connectedWeightOf(request.warpSet));
    return { kind: 'failed', error } as const;
  }

  /** Equal requests at the same height share one object, so that its encoding is cached. */
  #find(key: string, { pChainHeight }: Signing): AggregationResult | undefined {
    const cached = this.#results.get(key);
    if (cached === undefined) return undefined;
    this.#options.metrics.resultCacheHits.inc();
    const result = resultAt(pChainHeight, cached);
    if (result !== cached) this.#results.set(key, result);
    return result;
  }

  #keep(key: string, ending: Extract<Ending, { kind: 'signed' }>): Ending {
    if (ending.isTargetReached) this.#results.set(key, ending.result);
    return ending;
  }

  #connectedWeightOf({ validators }: WarpSet): bigint {
    const { source } = this.#options;
    return validators.reduce(
      (sum, { nodeIDs, weight }) => (nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? sum + weight : sum),
      0n,
    );
  }

  /** Returns the failure of a request whose quorum needs validators that cannot sign. */
  #unreachableQuorum(request: SettledRequest, signing: Signing): AggregatorError | undefined {
    const { source } = this.#options;
    const { totalWeight, keyless } = signing.warpSet;
    if (totalWeight - keyless.weight >= quorumWeight(request.quorumNum, totalWeight)) return undefined;
    const tally = createTally(signing.warpSet, { ...request, forecasts: [] });
    const whyUnreachable = ({ nodeIDs }: WarpValidator): string | undefined =>
      nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? undefined : source.whyUnreachable(nodeIDs[0] as NodeID);
    return toError({ ...request, ...signing }, { summary: summarizeTally(tally, whyUnreachable), refusedForGood: 0n });
  }
}

/** Whether a later block may change the failure. */
function isPassing({ code }: AggregatorError): boolean {
  return code === 'insufficient_weight' || code === 'not_connected';
}

/** A child of the span of the request that begins a flight; other requests link to it. */
function startSpan({ signingSubnetID, pChainHeight, warpSet }: Signing, parent: Span): Span {
  const span = parent.child('collect signatures');
  if (!span.isRecorded) return NO_SPAN;
  span.set('signing.subnet_id', signingSubnetID);
  span.set('p_chain.height', String(pChainHeight));
  span.set('validators', warpSet.validators.length);
  return span;
}

/** The share of a request's time in which it waits for other replicas. The rest is for a collection of its own. */
const WAITING_SHARE = 0.75;

interface Signed {
  readonly result: AggregationResult;
  /** Whether validators may have changed since. */
  readonly isNew: boolean;
}

interface Flight {
  readonly key: string;
  readonly request: SettledRequest;
  readonly signing: Signing;
}

/** The state of a validator, with the text of its refusal. */
const VALIDATOR_BYTES = 256;

/** What a request keeps while it waits: the message, as bytes and encoded for validators, and the states of these. */
function bytesToWait({ message, justification, warpSet }: SettledRequest & Signing): number {
  return 2 * (message.bytes.length + justification.length) + VALIDATOR_BYTES * warpSet.validators.length;
}

function toError(
  { message, quorumNum, sourceSubnetID, signingSubnetID, pChainHeight }: SettledRequest & Signing,
  { summary, refusedForGood }: Pick<Insufficient, 'summary' | 'refusedForGood'>,
): AggregatorError {
  const isOfL1 = sourceSubnetID !== PRIMARY_NETWORK_ID;
  const failure = describeFailure({ summary, quorumNum, isOfL1, refusedForGood });
  const { id: messageID, sourceChainID } = message;
  return new AggregatorError(failure.code, failure.message, {
    report: { messageID, sourceChainID, signingSubnetID, pChainHeight, tally: summary },
  });
}

function resultAt(pChainHeight: bigint, result: AggregationResult): AggregationResult {
  return result.pChainHeight === pChainHeight ? result : { ...result, pChainHeight };
}

function atHeight(error: AggregatorError, pChainHeight: bigint): AggregatorError {
  const { report } = error;
  const isOther = report !== undefined && report.pChainHeight !== pChainHeight;
  return isOther ? error.with({ report: { ...report, pChainHeight } }) : error;
}

/** The message as bytes and as hex in the encoded answer; NodeIDs belong to the set, and are written once more in the answer. */
function sizeOf({ signedMessage, signers }: AggregationResult): number {
  return 3 * signedMessage.length + SIGNER_BYTES * signers.length + RESULT_OVERHEAD_BYTES;
}

/** A reference, and a NodeID in quotes with its comma. */
const SIGNER_BYTES = 8 + 45;
/** The other fields, twice, the key, and the weights by outcome. */
const RESULT_OVERHEAD_BYTES = 1_280;
