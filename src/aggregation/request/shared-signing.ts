import { LRUCache } from 'lru-cache';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { DistributedSingleFlight, SingleFlightTask } from '../../store/redis/distributed-single-flight.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import { type NodeID, PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import type { Admission, AdmissionPermit } from '../admission/admission.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregationStage, StageInterval } from '../aggregator-metrics.ts';
import { collectSignatures } from '../collection/collect-signatures.ts';
import { CollectionCallers, type Insufficient } from '../collection/collection-callers.ts';
import { describeFailure } from '../collection/collection-failure.ts';
import type { CollectionDeps, CollectionPermit } from '../collection/collection-job.ts';
import { ProgressFeed, type ProgressListener } from '../collection/progress.ts';
import { createTally, summarizeTally } from '../collection/tally.ts';
import type { AggregationResult } from './aggregation-request.ts';
import type { SettledRequest } from './complete-request.ts';
import { createNegativeCache } from './negative-cache.ts';
import { resultKey, signatureKey } from './result-key.ts';
import { type Ending, toResult, toShared, verifiedResult } from './shared-outcome.ts';
import { SharedRun } from './shared-run.ts';
import type { Signing } from './signing-resolver.ts';

export interface SharedSigningOptions extends Omit<CollectionDeps, 'queries' | 'scheduler'> {
  readonly admission: Pick<Admission, 'admit' | 'run'>;
  readonly penalties: Penalties;
  readonly distributedFlights?: DistributedSingleFlight | undefined;
}

export interface Waiter {
  /** Ends only this caller's wait. Ignored if the answer is cached. */
  readonly signal: AbortSignal;
  /** Client ID for fair queueing; undefined for internal requests. */
  readonly client?: string | undefined;
  readonly span?: Span;
  /** Receives the state of the collection, then each event; nothing if no validator is asked. */
  readonly onProgress?: ProgressListener | undefined;
  /** Called at the end of each stage, or when this caller's wait ends; a stage may occur several times. */
  onStage?(stage: AggregationStage, durationMs: number): void;
}

/** The time in which a request's transaction may be accepted and executed. */
export interface Wait {
  untilMs: number;
  /** Aborts if the wait ends early. */
  readonly ends: AbortSignal | undefined;
  /** Time spent waiting so far, which is not slowness. */
  spentMs: number;
}

/**
 * Signs for a known validator set. Equal requests of this process share one flight, which is one collection or, with a shared store
 * (`distributedFlights`), the wait for that of another replica. Endings are cached.
 */
export function createSharedSigning(options: SharedSigningOptions) {
  const { source, distributedFlights, admission, penalties, bls, clock, metrics, limits } = options;
  const queries = new QueryConcurrency({ clock, maxQueries: limits.maxQueriesInFlight });
  metrics.showQueries(queries);
  const scheduler = new EventLoopScheduler(clock, 1);
  const flights = new SingleFlight<string, AggregationResult>();
  const running = new Map<string, Collection>();
  const results = new LRUCache<string, AggregationResult>({
    maxSize: limits.resultCacheBytes,
    sizeCalculation: sizeOf,
  });
  const failures = createNegativeCache(clock);

  function known(request: SettledRequest, signing: Signing): AggregationResult | undefined {
    return find(resultKey(request, signing), signing);
  }

  async function sign(request: SettledRequest, signing: Signing, waiter: Waiter, wait: Wait): Promise<Signed> {
    const { signal, client, span = NO_SPAN, onProgress } = waiter;
    const { pChainHeight } = signing;
    const key = resultKey(request, signing);
    const cached = find(key, signing);
    if (cached !== undefined) return { result: cached, isNew: false };
    const unreachable = unreachableQuorum(request, signing);
    if (unreachable !== undefined) throw unreachable;
    const joinedMs = clock.monotonicMs();
    const failure = failures.find(key, () => connectedWeightOf(signing.warpSet));
    if (failure !== undefined && !(joinedMs < wait.untilMs && isPassing(failure))) {
      metrics.rememberedFailures.inc({ code: failure.code });
      throw atHeight(failure, pChainHeight);
    }
    const own = new AbortController();
    const signed = flights.run(
      key,
      (flight) => {
        const flightSpan = startSpan(signing, span);
        return inSpan(flightSpan, () => fly({ key, request, signing, client, span: flightSpan }, flight));
      },
      AbortSignal.any([signal, own.signal]),
    );
    // The flight has begun, so its collection exists.
    const collection = running.get(key);
    if (collection?.span.isRecorded) span.link(collection.span);
    collection?.run.join(client);
    const onWaitEnd = (): void => collection?.callers.onChange();
    wait.ends?.addEventListener('abort', onWaitEnd, { once: true });
    const leave = collection?.callers.join({
      joinedMs,
      get waitUntilMs() {
        return wait.untilMs;
      },
      fail: (outcome) => own.abort(failed(key, { ...request, ...signing }, outcome).error),
    });
    const unsubscribe = onProgress && collection?.progress.subscribe(listenerAt(pChainHeight, onProgress));
    try {
      return { result: resultAt(pChainHeight, await signed), isNew: true };
    } catch (error) {
      throw error instanceof AggregatorError ? atHeight(error, pChainHeight) : error;
    } finally {
      leave?.();
      wait.ends?.removeEventListener('abort', onWaitEnd);
      unsubscribe?.();
      const nowMs = clock.monotonicMs();
      for (const { stage, sinceMs, untilMs = nowMs } of collection?.stages ?? []) {
        // The collection may have begun before this request.
        if (untilMs < joinedMs) continue;
        const spentMs = untilMs - Math.max(sinceMs, joinedMs);
        if (stage === 'execution') wait.spentMs += spentMs;
        waiter.onStage?.(stage, spentMs);
      }
    }
  }

  async function fly({ key, request, signing, client, span }: Flight, signal: AbortSignal): Promise<AggregationResult> {
    penalties.requireSignable(client, request.message.sourceChainID);
    using admitted = admission.admit({ client, subnetID: signing.signingSubnetID });
    const progress = new ProgressFeed({ ...signing, isConnected: (nodeID) => source.isConnected(nodeID) });
    const callers = new CollectionCallers();
    const run = new SharedRun(admission, client);
    const collection: Collection = { progress, run, admitted, callers, stages: [], span };
    const startMs = clock.monotonicMs();
    running.set(key, collection);
    const task: SingleFlightTask<Ending> = {
      patienceMs: () => callers.first(startMs) - startMs + WAITING_SHARE * limits.requestTimeoutMs,
      work: () => collect(key, { ...request, ...signing }, collection, startMs, signal),
      share: toShared,
      async accept(bytes) {
        const ending = await verifiedResult(bytes, request, signing, bls, signal);
        return ending && keep(key, ending);
      },
    };
    try {
      const ended =
        distributedFlights === undefined ? task.work() : distributedFlights.run(`work:${key}`, task, signal);
      const ending = await unlessThreadsOverloaded(ended);
      if (ending.kind === 'failed') throw ending.error;
      return ending.result;
    } finally {
      // After all clients have left, another flight may have the same key.
      if (running.get(key) === collection) running.delete(key);
    }
  }

  async function collect(
    key: string,
    request: SettledRequest & Signing,
    { run, admitted, ...collection }: Collection,
    flightMs: number,
    signal: AbortSignal,
  ): Promise<Ending> {
    // Time spent waiting for another replica. A collection has the rest.
    const spentMs = Math.max(0, clock.monotonicMs() - collection.callers.first(flightMs));
    const check = (client: string | undefined): void =>
      penalties.requireSignable(client, request.message.sourceChainID);
    using running = await run.acquire(request.signingSubnetID, check, signal);
    const { client } = running;
    const permit: CollectionPermit = {
      rest: () => running.rest(),
      wait() {
        admitted.wait(client, bytesToWait(request));
        running.rest();
      },
      async resume(until) {
        await admitted.resume(until);
        await running.resume(until);
      },
    };
    const job = { ...request, ...collection, signatureKey: signatureKey(request), client, permit };
    const requestTimeoutMs = Math.max(0, limits.requestTimeoutMs - spentMs);
    const repeatForMs = Math.max(0, limits.repeatForMs - spentMs);
    const deps = { ...options, queries, scheduler, limits: { ...limits, requestTimeoutMs, repeatForMs } };
    const outcome = await collectSignatures(job, deps, signal);
    if (outcome.kind === 'insufficient') return failed(key, request, outcome);
    const { isTargetReached } = outcome;
    return keep(key, { kind: 'signed', result: toResult(request, outcome), isTargetReached });
  }

  function failed(key: string, request: SettledRequest & Signing, outcome: Insufficient) {
    const error = toError(request, outcome);
    failures.remember(key, error, connectedWeightOf(request.warpSet));
    return { kind: 'failed', error } as const;
  }

  /** Equal requests at the same height share one object, so that its encoding is cached. */
  function find(key: string, { pChainHeight }: Signing): AggregationResult | undefined {
    const cached = results.get(key);
    if (cached === undefined) return undefined;
    metrics.resultCacheHits.inc();
    const result = resultAt(pChainHeight, cached);
    if (result !== cached) results.set(key, result);
    return result;
  }

  function keep(key: string, ending: Extract<Ending, { kind: 'signed' }>): Ending {
    if (ending.isTargetReached) results.set(key, ending.result);
    return ending;
  }

  function connectedWeightOf({ validators }: WarpSet): bigint {
    return validators.reduce(
      (sum, { nodeIDs, weight }) => (nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? sum + weight : sum),
      0n,
    );
  }

  /** Returns the failure of a request whose quorum needs validators that cannot sign. */
  function unreachableQuorum(request: SettledRequest, signing: Signing): AggregatorError | undefined {
    const { totalWeight, keyless } = signing.warpSet;
    if (totalWeight - keyless.weight >= quorumWeight(request.quorumNum, totalWeight)) return undefined;
    const tally = createTally(signing.warpSet, { ...request, forecasts: [] });
    const whyUnreachable = ({ nodeIDs }: WarpValidator): string | undefined =>
      nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? undefined : source.whyUnreachable(nodeIDs[0] as NodeID);
    return toError({ ...request, ...signing }, { summary: summarizeTally(tally, whyUnreachable), refusedForGood: 0n });
  }

  return { known, sign };
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

/** State of a flight that its requests share. */
interface Collection {
  readonly progress: ProgressFeed;
  readonly stages: StageInterval[];
  readonly run: SharedRun;
  readonly admitted: AdmissionPermit;
  readonly callers: CollectionCallers;
  readonly span: Span;
}

interface Flight {
  readonly key: string;
  readonly request: SettledRequest;
  readonly signing: Signing;
  readonly client: string | undefined;
  readonly span: Span;
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

/**
 * Returns a listener that rewrites the height: requests at different heights share a collection if the set is the same. Events at the
 * same height stay one object, because encoding one takes 300 KB for 2,000 validators.
 */
function listenerAt(pChainHeight: bigint, listener: ProgressListener): ProgressListener {
  return (event) =>
    listener(
      event.kind === 'state' && event.state.pChainHeight !== pChainHeight
        ? { ...event, state: { ...event.state, pChainHeight } }
        : event,
    );
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
