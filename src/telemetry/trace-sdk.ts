import { DiagLogLevel, diag } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanLimits,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { type Clock, sleep } from '../lib/concurrency/clock.ts';
import { createThrottledWarnings } from './log-throttle.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { createTracer } from './recorded-spans.ts';
import type { Tracer } from './spans.ts';

export interface TraceSampling {
  /** Share of the traces that begin here, from 0 to 1. */
  readonly ratio: number;
  /** Whether a caller's decision to keep its trace goes before the ratio. */
  readonly isParentBased: boolean;
}

export interface TraceSdkOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Defaults; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go before. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampling: TraceSampling;
}

/** The tracer of a service whose traces are exported. Disposing of it sends what is left, for as long as that may take. */
export interface TraceSdk extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** Spans that have ended and are not yet sent, about 1 KB each. Further ones are dropped. */
const MAX_SPANS = 8_192;
const BATCH_DELAY_MS = 2_000;
/** Bounds the flush when the service stops. */
const LAST_FLUSH_MS = 2_000;

/** Longer texts are cut: peers and upstreams choose some of them. */
const SPAN_LIMITS: SpanLimits = {
  attributeValueLengthLimit: 256,
  attributeCountLimit: 32,
  linkCountLimit: 32,
  attributePerLinkCountLimit: 4,
  // None are made.
  eventCountLimit: 0,
};

/** Exports traces as the `OTEL_*` variables of the environment say. Loaded only where they are configured. */
export function openTraceSdk({ clock, logger, metrics, resource, sampling }: TraceSdkOptions): TraceSdk {
  const outcomes = metrics.counter<'outcome'>({
    name: 'trace_spans_total',
    help: 'Spans of traces by what became of them: exported, failed to be, or dropped as too many were waiting',
    labels: ['outcome'],
  });
  // There from the start, so that the first loss is seen as one.
  for (const outcome of ['failed', 'dropped']) outcomes.inc({ outcome }, 0);
  const warn = createThrottledWarnings(logger, clock);
  const stopped = new AbortController();
  const exporter = createExporter(logger, stopped.signal);
  let held = 0;
  const batches = new BatchSpanProcessor({
    exporter: {
      export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
        exporter.export(spans, ({ code, error }) => {
          held -= spans.length;
          outcomes.inc({ outcome: code === ExportResultCode.SUCCESS ? 'exported' : 'failed' }, spans.length);
          if (code !== ExportResultCode.SUCCESS) {
            warn('export', { reason: describe(error), spans: spans.length }, 'traces could not be exported');
          }
          done({ code });
        });
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: MAX_SPANS,
    scheduledDelayMillis: BATCH_DELAY_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...resource }).merge(
      detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }),
    ),
    sampler: createSampler(sampling),
    spanLimits: SPAN_LIMITS,
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd(span) {
          if (held >= MAX_SPANS) return outcomes.inc({ outcome: 'dropped' });
          held += 1;
          batches.onEnd(span);
        },
        forceFlush: () => batches.forceFlush(),
        shutdown: () => batches.shutdown(),
      },
    ],
  });
  return {
    tracer: createTracer(provider.getTracer(resource['service.name'] ?? '')),
    async [Symbol.asyncDispose]() {
      const ended = new AbortController();
      // Where one batch fails, the others may still be on their way.
      const flushed = provider.shutdown().catch(() => exporter.forceFlush());
      const late = sleep(clock, LAST_FLUSH_MS, ended.signal).then(
        () => logger.warn({ timeoutMs: LAST_FLUSH_MS }, 'the last traces are lost: sending them took too long'),
        () => undefined,
      );
      await Promise.race([flushed, late]);
      ended.abort();
      stopped.abort();
    },
  };
}

/** @param stopped aborts further attempts */
function createExporter(logger: Logger, stopped: AbortSignal): OTLPTraceExporter {
  const ignore = (): void => undefined;
  const warn = (problem: string): void => logger.warn({ problem }, 'a variable of OpenTelemetry is ignored');
  diag.setLogger({ error: ignore, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const exporter = new OTLPTraceExporter({
    // Asked for before each attempt.
    async headers() {
      stopped.throwIfAborted();
      return {};
    },
  });
  diag.disable();
  return exporter;
}

/** Leaves out the message, in which the address may stand, and a key in it. */
function describe(error: Error | undefined): string {
  if (error === undefined) return 'failure';
  const { code }: { readonly code?: unknown } = error as object;
  if (typeof code === 'number') return `HTTP status ${code}`;
  return typeof code === 'string' ? code : error.name;
}

export function createSampler({ ratio, isParentBased }: TraceSampling): Sampler {
  const root =
    ratio >= 1 ? new AlwaysOnSampler() : ratio <= 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
