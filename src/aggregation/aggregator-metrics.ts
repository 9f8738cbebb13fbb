import type { FairSemaphore } from '../lib/concurrency/fair-semaphore.ts';
import { type Counter, DURATION_BUCKETS_SECONDS, type Gauge, type Metrics } from '../telemetry/metrics.ts';
import { isQuorumReached } from '../validators/quorum.ts';
import type { SubnetID } from '../warp/ids.ts';
import type { AggregatorErrorCode } from './aggregator-error.ts';
import type { AggregationPhase } from './phase-timer.ts';
import type { AttemptOutcome } from './validators/validator-outcome.ts';

type Usage = Pick<FairSemaphore, 'limit' | 'held' | 'queued'>;

interface AdmissionUsage extends Readonly<Record<'admitted' | 'running', Usage>> {
  /** Requests that wait without a permit. */
  readonly waiting: Pick<Usage, 'held'>;
}

export type LookupKind = 'view' | 'verify' | 'destination' | 'validation';

export type RequestOutcome = 'signed' | 'aborted' | 'internal_error' | AggregatorErrorCode;

export interface CountedValidator {
  readonly subnetID: SubnetID;
  readonly weight: bigint;
  readonly totalWeight: bigint;
}

export type CountOutcome = (validator: { readonly weight: bigint }, outcome: AttemptOutcome) => void;

/** The metrics of one network's aggregations. Each field is written where it is measured; a `show` method reads its argument at each scrape. */
export interface AggregatorMetrics {
  readonly inFlight: Gauge;
  readonly signatureRequests: Counter;
  readonly signatureCacheHits: Counter;
  readonly signatureCacheMisses: Counter;
  readonly resultCacheHits: Counter;
  readonly rememberedFailures: Counter<'code'>;
  readonly badSigners: Counter;
  readonly admissionRefusals: Counter<'reason'>;
  showAdmission(usage: AdmissionUsage): void;
  showLookups(kind: LookupKind, running: Usage): void;
  showQueries(usage: Readonly<Record<'small' | 'large', Usage>>): void;
  /** Counts one attempt at a validator, or a signature found to be invalid later. */
  countOutcome(outcome: AttemptOutcome, validator: CountedValidator): void;
  observePhase(phase: AggregationPhase, seconds: number): void;
  observeDuration(outcome: RequestOutcome, seconds: number): void;
}

/** @param isLabelled whether a subnet gets its own label value: subnets that clients choose have no bound */
export function createAggregatorMetrics(
  metrics: Metrics,
  isLabelled: (subnetID: SubnetID) => boolean = () => false,
): AggregatorMetrics {
  const counter = <Label extends string = never>(name: string, help: string, ...labels: Label[]): Counter<Label> =>
    metrics.counter<Label>({ name, help, labels });
  const gauge = (name: string, help: string, read: () => number): void => metrics.readGauge({ name, help }, read);
  const durations = <Label extends string>(name: string, help: string, label: Label) =>
    metrics.histogram<Label>({ name, help, labels: [label], buckets: DURATION_BUCKETS_SECONDS });
  const outcomes = counter(
    'validator_outcomes_total',
    'Attempts at validators by outcome and reason (of timed_out and not_asked), by the share of the weight that the validator has and by subnet: tracked ones by their ID, all others as "other"',
    ...(['subnet_id', 'weight_class', 'outcome', 'reason'] as const),
  );
  const phases = durations(
    'aggregation_stage_duration_seconds',
    'Time of the stages of an aggregation: resolve, connect, collect, verify, execution (what the client waits for: the transaction is accepted and executed, its signers become known)',
    'stage',
  );
  const observeDuration = createDurationObserver(metrics);
  const lookups = new Map<LookupKind, Usage>();
  const ofLookups = (name: string, help: string, read: (usage: Usage) => number): void =>
    metrics.readGauge<'kind'>({ name, help, labels: ['kind'] }, () =>
      Array.from(lookups, ([kind, usage]) => ({ labels: { kind }, value: read(usage) })),
    );
  ofLookups(
    'lookups_at_work',
    'Running views of subnets (view), destinations and validations, and verifications of messages (verify); the others are queued',
    ({ held }) => held,
  );
  ofLookups(
    'lookups_waiting',
    'Queued views of subnets (view) and verifications of messages (verify)',
    ({ queued }) => queued,
  );
  return {
    inFlight: metrics.gauge({ name: 'aggregations_in_flight', help: 'Running and queued aggregations' }),
    signatureRequests: counter('signature_requests_total', 'Signature requests sent to validators'),
    signatureCacheHits: counter('signature_cache_hits_total', 'Signatures found in the store'),
    signatureCacheMisses: counter('signature_cache_misses_total', 'Signatures looked for in the store and not found'),
    resultCacheHits: counter(
      'result_cache_hits_total',
      'Requests answered with a signed message made before for the same validator set',
    ),
    rememberedFailures: counter(
      'remembered_failures_total',
      'Requests answered from the negative cache of failures, by code',
      'code',
    ),
    badSigners: counter(
      'bad_signers_total',
      'Signatures that were points on the curve, and proved not to be those of their signers',
    ),
    admissionRefusals: counter(
      'admission_refusals_total',
      'Requests refused as overloaded, by the exhausted limit: all permits, a share of them, those to wait, or the points of a client',
      'reason',
    ),
    showAdmission({ admitted, running, waiting }) {
      gauge(
        'aggregations_limit',
        'The most different aggregations and lookups that may run or be queued',
        () => admitted.limit,
      );
      gauge('aggregations_admitted', 'Different aggregations and lookups that run or are queued', () => admitted.held);
      gauge('aggregations_at_work_limit', 'The adaptive limit of running aggregations', () => running.limit);
      gauge('aggregations_at_work', 'Running aggregations; the others are queued', () => running.held);
      gauge(
        'aggregations_waiting',
        'Requests that wait until their transaction is accepted or executed: they hold no permit',
        () => waiting.held,
      );
    },
    showLookups: (kind, running) => void lookups.set(kind, running),
    showQueries({ small, large }) {
      gauge('queries_in_flight', 'Small signature requests in flight', () => small.held);
      gauge('queries_limit', 'The most small signature requests in flight', () => small.limit);
      gauge('large_queries_in_flight_bytes', 'Bytes of large signature requests in flight', () => large.held);
      gauge('large_queries_limit_bytes', 'The most bytes of large signature requests in flight', () => large.limit);
      gauge('queries_waiting', 'Signature requests queued for a permit', () => small.queued + large.queued);
    },
    countOutcome: (outcome, { subnetID, weight, totalWeight }) =>
      outcomes.inc({
        subnet_id: isLabelled(subnetID) ? subnetID : 'other',
        weight_class: weightClass(weight, totalWeight),
        outcome: outcome.kind,
        // Reasons of other outcomes are free texts: as labels they would create time series without bound.
        reason: outcome.kind === 'timed_out' || outcome.kind === 'not_asked' ? outcome.reason : '',
      }),
    observePhase: (phase, seconds) => phases.observe({ stage: phase }, seconds),
    observeDuration,
  };
}

/** Declares the histogram of requests, of which a network that is not open counts its refusals. */
export function createDurationObserver(metrics: Metrics): (outcome: RequestOutcome, seconds: number) => void {
  const duration = metrics.histogram<'outcome'>({
    name: 'aggregation_duration_seconds',
    help: 'Time of a requested aggregation without the stage execution, by outcome: signed, aborted, or the code of its error. Those of the feed are in feed_messages_total',
    labels: ['outcome'],
    buckets: DURATION_BUCKETS_SECONDS,
  });
  return (outcome, seconds) => duration.observe({ outcome }, seconds);
}

/** Share of the total weight: at least a tenth, at least a hundredth, or less. */
function weightClass(weight: bigint, totalWeight: bigint): 'heavy' | 'medium' | 'light' {
  if (isQuorumReached(10n, weight, totalWeight)) return 'heavy';
  return isQuorumReached(1n, weight, totalWeight) ? 'medium' : 'light';
}
