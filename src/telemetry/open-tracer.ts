import type { Clock } from '../lib/concurrency/clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { NO_TRACER, type Tracer } from './spans.ts';

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

/** Opens a tracer, which `opened` closes. Loads OpenTelemetry only if traces are exported (docs/operate.md#traces). */
export async function openTracer(opened: AsyncDisposableStack, options: TracerOptions): Promise<Tracer> {
  const { sampling, ignored, logger } = options;
  for (const problem of ignored) logger.warn({ problem }, 'a variable of OpenTelemetry is ignored');
  if (sampling === undefined) return NO_TRACER;
  const { openTraceSdk } = await import('./trace-sdk.ts');
  const { tracer } = opened.use(openTraceSdk({ ...options, sampling }));
  logger.info(sampling, 'traces are exported');
  return tracer;
}
