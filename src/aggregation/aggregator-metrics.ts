import { LazyMap } from '../lib/cache/lazy-map.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { FairSemaphore } from '../lib/concurrency/fair-semaphore.ts';
import { type Counter, DURATION_BUCKETS_SECONDS, type Gauge, type Metrics } from '../telemetry/metrics.ts';
import { isQuorumReached } from '../validators/quorum.ts';
import type { SubnetID } from '../warp/ids.ts';
import type { AggregatorErrorCode } from './aggregator-error.ts';
import type { ValidatorOutcome } from './validators/validator-outcome.ts';

export interface AggregatorMetrics {
  readonly inFlight: Gauge;
  readonly signatureRequests: Counter;
  readonly signatureCacheHits: Counter;
  readonly signatureCacheMisses: Counter;
  readonly resultCacheHits: Counter;
  readonly rememberedFailures: Counter<'code'>;
  readonly badSigners: Counter;
  readonly admissionRefusals: Counter<'reason'>;
  showAdmission(read: AdmissionNumbers): void;
  showLookups(kind: LookupKind, running: Usage): void;
  showQueries(queries: { readonly small: Usage; readonly large: Usage }): void;
  /** Counts one attempt at a validator, or a signature found to be invalid later. */
  countOutcome(outcome: ValidatorOutcome, validator: CountedValidator): void;
  observeStage(stage: AggregationStage, seconds: number): void;
  observeDuration(outcome: RequestOutcome, seconds: number): void;
}

type Usage = Pick<FairSemaphore, 'limit' | 'held' | 'queued'>;

export interface AdmissionNumbers {
  readonly admitted: Usage;
  readonly running: Usage;
}

export type LookupKind = 'view' | 'verify';

export type RequestOutcome = 'signed' | 'aborted' | 'internal_error' | AggregatorErrorCode;

/**
 * `resolve`: finding the validator set. `connect`: until a validator can be asked. `collect`: until quorum plus buffer is
 * reached or out of reach. `verify`: checking the aggregate, and searching for invalid signatures.
 */
export type AggregationStage = 'resolve' | 'connect' | 'collect' | 'verify';

export interface CountedValidator {
  readonly subnetID: SubnetID;
  readonly weight: bigint;
  readonly totalWeight: bigint;
}

export type CountOutcome = (validator: { readonly weight: bigint }, outcome: ValidatorOutcome) => void;

/** @param isLabelled whether a subnet gets its own label value: subnets that clients choose have no bound */
export function createAggregatorMetrics(
  metrics: Metrics,
  isLabelled: (subnetID: SubnetID) => boolean = () => false,
): AggregatorMetrics {
  const outcomes = metrics.counter<'subnet_id' | 'weight_class' | 'outcome' | 'reason'>({
    name: 'validator_outcomes_total',
    help: 'Attempts at validators by outcome and reason (of timed_out and not_asked), by the share of the weight that the validator has and by subnet: tracked ones by their ID, all others as "other"',
    labels: ['subnet_id', 'weight_class', 'outcome', 'reason'],
  });
  const stages = metrics.histogram<'stage'>({
    name: 'aggregation_stage_duration_seconds',
    help: 'Time of the stages of an aggregation: resolve, connect, collect, verify',
    labels: ['stage'],
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const duration = metrics.histogram<'outcome'>({
    name: 'aggregation_duration_seconds',
    help: 'Time of an aggregation, by outcome: signed, aborted, or the code of its error',
    labels: ['outcome'],
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const lookups = new Map<LookupKind, Usage>();
  metrics.readGauge<'kind'>(
    {
      name: 'lookups_at_work',
      help: 'Running views of subnets (view) and verifications of messages (verify); the others are queued',
      labels: ['kind'],
    },
    () => Array.from(lookups, ([kind, { held }]) => ({ labels: { kind }, value: held })),
  );
  metrics.readGauge<'kind'>(
    {
      name: 'lookups_waiting',
      help: 'Queued views of subnets (view) and verifications of messages (verify)',
      labels: ['kind'],
    },
    () => Array.from(lookups, ([kind, { queued }]) => ({ labels: { kind }, value: queued })),
  );
  const stageSeries = new LazyMap((stage: AggregationStage) => stages.at({ stage }));
  const durationSeries = new LazyMap((outcome: RequestOutcome) => duration.at({ outcome }));
  return {
    inFlight: metrics.gauge({ name: 'aggregations_in_flight', help: 'Running and queued aggregations' }),
    signatureRequests: metrics.counter({
      name: 'signature_requests_total',
      help: 'Signature requests sent to validators',
    }),
    signatureCacheHits: metrics.counter({
      name: 'signature_cache_hits_total',
      help: 'Signatures found in the store',
    }),
    signatureCacheMisses: metrics.counter({
      name: 'signature_cache_misses_total',
      help: 'Signatures looked for in the store and not found',
    }),
    resultCacheHits: metrics.counter({
      name: 'result_cache_hits_total',
      help: 'Requests answered with a signed message made before for the same validator set',
    }),
    rememberedFailures: metrics.counter<'code'>({
      name: 'remembered_failures_total',
      help: 'Requests answered from the negative cache of failures, by code',
      labels: ['code'],
    }),
    badSigners: metrics.counter({
      name: 'bad_signers_total',
      help: 'Signatures that were points on the curve, and proved not to be those of their signers',
    }),
    admissionRefusals: metrics.counter<'reason'>({
      name: 'admission_refusals_total',
      help: 'Requests refused as overloaded, by the exhausted limit: all permits, a share of them, or the points of a client',
      labels: ['reason'],
    }),
    showAdmission({ admitted, running }) {
      metrics.readGauge(
        {
          name: 'aggregations_limit',
          help: 'The most different aggregations and lookups that may run or be queued',
        },
        () => admitted.limit,
      );
      metrics.readGauge(
        { name: 'aggregations_admitted', help: 'Different aggregations and lookups that run or are queued' },
        () => admitted.held,
      );
      metrics.readGauge(
        {
          name: 'aggregations_at_work_limit',
          help: 'The adaptive limit of running aggregations',
        },
        () => running.limit,
      );
      metrics.readGauge(
        { name: 'aggregations_at_work', help: 'Running aggregations; the others are queued' },
        () => running.held,
      );
    },
    showLookups: (kind, running) => void lookups.set(kind, running),
    showQueries({ small, large }) {
      metrics.readGauge({ name: 'queries_in_flight', help: 'Small signature requests in flight' }, () => small.held);
      metrics.readGauge(
        { name: 'queries_limit', help: 'The most small signature requests in flight' },
        () => small.limit,
      );
      metrics.readGauge(
        { name: 'large_queries_in_flight_bytes', help: 'Bytes of large signature requests in flight' },
        () => large.held,
      );
      metrics.readGauge(
        {
          name: 'large_queries_limit_bytes',
          help: 'The most bytes of large signature requests in flight',
        },
        () => large.limit,
      );
      metrics.readGauge(
        { name: 'queries_waiting', help: 'Signature requests queued for a permit' },
        () => small.queued + large.queued,
      );
    },
    countOutcome: (outcome, { subnetID, weight, totalWeight }) =>
      outcomes.inc({
        subnet_id: isLabelled(subnetID) ? subnetID : 'other',
        weight_class: weightClass(weight, totalWeight),
        outcome: outcome.kind,
        // Texts of other outcomes have no bound.
        reason: outcome.kind === 'timed_out' || outcome.kind === 'not_asked' ? outcome.reason : '',
      }),
    observeStage: (stage, seconds) => stageSeries.get(stage).observe(seconds),
    observeDuration: (outcome, seconds) => durationSeries.get(outcome).observe(seconds),
  };
}

/** Share of the total weight: at least a tenth, at least a hundredth, or less. */
function weightClass(weight: bigint, totalWeight: bigint): 'heavy' | 'medium' | 'light' {
  if (isQuorumReached(10n, weight, totalWeight)) return 'heavy';
  return isQuorumReached(1n, weight, totalWeight) ? 'medium' : 'light';
}

/** One stage of an aggregation, by the monotonic clock. A stage may occur several times. */
export interface StageInterval {
  readonly stage: AggregationStage;
  readonly sinceMs: number;
  /** Undefined while the stage continues. */
  untilMs: number | undefined;
}

/** Measures the stages of one aggregation, each until the next one begins. */
export class StageTimer implements Disposable {
  readonly #clock: Clock;
  readonly #metrics: AggregatorMetrics;
  readonly #intervals: StageInterval[];
  #current: StageInterval;

  /** @param intervals receives each stage when it begins */
  constructor(clock: Clock, metrics: AggregatorMetrics, first: AggregationStage, intervals: StageInterval[] = []) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#intervals = intervals;
    this.#current = this.#begin(first);
  }

  enter(stage: AggregationStage): void {
    if (stage === this.#current.stage) return;
    this[Symbol.dispose]();
    this.#current = this.#begin(stage);
  }

  #begin(stage: AggregationStage): StageInterval {
    const interval = { stage, sinceMs: this.#clock.monotonicMs(), untilMs: undefined };
    this.#intervals.push(interval);
    return interval;
  }

  [Symbol.dispose](): void {
    const { stage, sinceMs } = this.#current;
    this.#current.untilMs = this.#clock.monotonicMs();
    this.#metrics.observeStage(stage, (this.#current.untilMs - sinceMs) / 1_000);
  }
}
