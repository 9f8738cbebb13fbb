import type { Clock } from '../lib/concurrency/clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

export interface TraceSampling {
  /** Sampled share of the traces that start here, from 0 to 1. */
  readonly ratio: number;
  /** Whether a client's sampling decision overrides the ratio. */
  readonly isParentBased: boolean;
}

export interface TracerOptions {
  /** Undefined exports no traces. */
  readonly sampling: TraceSampling | undefined;
  /** Descriptions of OpenTelemetry variables that cannot be used. */
  readonly ignored: readonly string[];
  /** Defaults, which `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override. */
  readonly service: { readonly name: string; readonly version: string };
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
}
