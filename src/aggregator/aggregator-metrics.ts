import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AggregatorErrorCode } from './aggregator-error.ts';
import type { PeerFailure } from './signature-source.ts';

export interface AggregatorMetrics {
  readonly duration: Histogram<'outcome'>;
  readonly inFlight: Gauge;
  readonly appRequests: Counter;
  readonly signatureCacheHits: Counter;
  readonly signatureCacheMisses: Counter;
  readonly resultCacheHits: Counter;
  readonly connectedWeight: Gauge<'subnet_id'>;
  readonly badSigners: Counter;
  countFailure(failure: PeerFailure): void;
}

/** An internal error is a bug of ours. */
export type RequestOutcome = 'signed' | 'aborted' | 'internal_error' | AggregatorErrorCode;

export function createAggregatorMetrics(registry: Registry): AggregatorMetrics {
  const registers = [registry];
  const prefix = 'signature_aggregator_';
  const failures = new Counter({
    name: `${prefix}validator_failures_total`,
    help: 'Attempts at a validator that gave no signature, by reason',
    labelNames: ['reason'],
    registers,
  });
  return {
    duration: new Histogram({
      name: `${prefix}aggregation_duration_seconds`,
      help: 'Time of an aggregation, by outcome',
      labelNames: ['outcome'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    inFlight: new Gauge({ name: `${prefix}aggregations_in_flight`, help: 'Aggregations under way', registers }),
    appRequests: new Counter({
      name: `${prefix}signature_requests_total`,
      help: 'Signature requests sent to validators',
      registers,
    }),
    signatureCacheHits: new Counter({
      name: `${prefix}signature_cache_hits_total`,
      help: 'Signatures found in the store',
      registers,
    }),
    signatureCacheMisses: new Counter({
      name: `${prefix}signature_cache_misses_total`,
      help: 'Signatures looked for in the store and not found',
      registers,
    }),
    resultCacheHits: new Counter({
      name: `${prefix}result_cache_hits_total`,
      help: 'Requests answered with a signed message made before for the same validator set',
      registers,
    }),
    connectedWeight: new Gauge({
      name: `${prefix}connected_stake_weight_percentage`,
      help: 'Percentage of the total weight of a subnet that is connected',
      labelNames: ['subnet_id'],
      registers,
    }),
    badSigners: new Counter({
      name: `${prefix}bad_signers_total`,
      help: 'Signatures that were points on the curve, and proved not to be those of their signers',
      registers,
    }),
    countFailure: ({ kind }) => failures.inc({ reason: kind.replaceAll(' ', '_') }),
  };
}
