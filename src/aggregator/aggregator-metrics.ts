import { type Counter, DURATION_BUCKETS_SECONDS, type Gauge, type Metrics } from '../telemetry/metrics.ts';
import type { AggregatorErrorCode } from './aggregator-error.ts';
import type { SignatureFailure } from './signature-source.ts';

export interface AggregatorMetrics {
  readonly inFlight: Gauge;
  readonly signatureRequests: Counter;
  readonly signatureCacheHits: Counter;
  readonly signatureCacheMisses: Counter;
  readonly resultCacheHits: Counter;
  readonly rememberedFailures: Counter<'code'>;
  readonly badSigners: Counter;
  readonly admissionRefusals: Counter<'reason'>;
  /** Shows these numbers whenever the metrics are read. */
  showAdmission(read: AdmissionNumbers): void;
  countFailure(failure: SignatureFailure): void;
  observeDuration(outcome: RequestOutcome, seconds: number): void;
}

export interface AdmissionNumbers {
  readonly limit: () => number;
  readonly admitted: () => number;
  readonly workLimit: () => number;
  readonly atWork: () => number;
}

/** How a request ended. An internal error is a bug of ours. */
export type RequestOutcome = 'signed' | 'aborted' | 'internal_error' | AggregatorErrorCode;

export function createAggregatorMetrics(metrics: Metrics): AggregatorMetrics {
  const failures = metrics.counter<'reason'>({
    name: 'validator_failures_total',
    help: 'Attempts at a validator that gave no signature, by what it did instead',
    labels: ['reason'],
  });
  const duration = metrics.histogram<'outcome'>({
    name: 'aggregation_duration_seconds',
    help: 'Time of an aggregation, by outcome: signed, aborted, or the code of its error',
    labels: ['outcome'],
    buckets: DURATION_BUCKETS_SECONDS,
  });
  return {
    inFlight: metrics.gauge({ name: 'aggregations_in_flight', help: 'Aggregations under way' }),
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
      help: 'Requests answered with the failure of an equal request a short while ago, without asking anybody, by code',
      labels: ['code'],
    }),
    badSigners: metrics.counter({
      name: 'bad_signers_total',
      help: 'Signatures that were points on the curve, and proved not to be those of their signers',
    }),
    admissionRefusals: metrics.counter<'reason'>({
      name: 'admission_refusals_total',
      help: 'Requests refused as overloaded before they cost anything, by what was used up: all places, or a share of them',
      labels: ['reason'],
    }),
    showAdmission({ limit, admitted, workLimit, atWork }) {
      metrics.readGauge(
        {
          name: 'aggregations_limit',
          help: 'How many different aggregations are let in now, those that wait included',
        },
        limit,
      );
      metrics.readGauge(
        { name: 'aggregations_admitted', help: 'Different aggregations under way, their lookups included' },
        admitted,
      );
      metrics.readGauge(
        { name: 'aggregations_at_work_limit', help: 'How many aggregations the machine can work on at a time now' },
        workLimit,
      );
      metrics.readGauge(
        { name: 'aggregations_at_work', help: 'Aggregations that are worked on; the others wait for their turn' },
        atWork,
      );
    },
    countFailure: ({ kind }) => failures.inc({ reason: kind }),
    observeDuration: (outcome, seconds) => duration.observe({ outcome }, seconds),
  };
}
