import { type Counter, DURATION_BUCKETS_SECONDS, type Histogram, type Metrics } from '../../telemetry/metrics.ts';

export interface ApiMetrics {
  readonly calls: Counter<'method' | 'outcome'>;
  readonly attemptFailures: Counter<'endpoint' | 'reason'>;
  readonly duration: Histogram<'method'>;
}

export function declareApiMetrics(metrics: Metrics): ApiMetrics {
  return {
    calls: metrics.counter({
      name: 'api_calls_total',
      help: 'Calls of the P-Chain and info API, by method and outcome',
      labels: ['method', 'outcome'],
    }),
    attemptFailures: metrics.counter({
      name: 'api_attempt_failures_total',
      help: 'HTTP requests to the P-Chain and info API that gave no answer, by host and reason',
      labels: ['endpoint', 'reason'],
    }),
    duration: metrics.histogram({
      name: 'api_call_duration_seconds',
      help: 'Duration of calls of the P-Chain and info API with all their attempts',
      labels: ['method'],
      buckets: DURATION_BUCKETS_SECONDS,
    }),
  };
}
