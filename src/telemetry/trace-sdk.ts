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
import { sleep } from '../lib/concurrency/clock.ts';
import { createThrottledWarnings } from './log-throttle.ts';
import type { Logger } from './logger.ts';
import { createTracer } from './recorded-spans.ts';
import type { Tracer } from './spans.ts';
import type { TracerOptions, TraceSampling } from './tracer-options.ts';

export interface TraceSdkOptions extends Omit<TracerOptions, 'sampling' | 'ignored'> {
  readonly sampling: TraceSampling;
}

/** A tracer whose spans are exported. Disposing of it sends the remaining spans, within a time limit. */
export interface TraceSdk extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** Bound of the ended spans that are not sent yet, about 1 KB each. Further ones are dropped. */
const MAX_SPANS = 8_192;
const BATCH_DELAY_MS = 2_000;
/** Time limit of the flush when the service stops. */
const LAST_FLUSH_MS = 2_000;

/** Peers and upstreams choose some of the texts. */
const SPAN_LIMITS: SpanLimits = {
  attributeValueLengthLimit: 256,
  attributeCountLimit: 32,
  linkCountLimit: 32,
  attributePerLinkCountLimit: 4,
  eventCountLimit: 0,
};

/** Exports traces as the `OTEL_*` environment variables configure it. This module is loaded only if they do. */
export function openTraceSdk({ clock, logger, metrics, service, sampling }: TraceSdkOptions): TraceSdk {
  const outcomes = metrics.counter<'outcome'>({
    name: 'trace_spans_total',
    help: 'Spans by outcome: exported, failed to be exported, or dropped because too many were waiting',
    labels: ['outcome'],
  });
  // Prometheus sees the first loss only if the series existed before.
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
    resource: resourceFromAttributes({ 'service.name': service.name, 'service.version': service.version }).merge(
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
    tracer: createTracer(provider.getTracer(service.name)),
    async [Symbol.asyncDispose]() {
      const ended = new AbortController();
      // After one batch failed, others may still be in flight.
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

/** @param stopped prevents further attempts */
function createExporter(logger: Logger, stopped: AbortSignal): OTLPTraceExporter {
  const ignore = (): void => undefined;
  const warn = (problem: string): void => logger.warn({ problem }, 'a variable of OpenTelemetry is ignored');
  diag.setLogger({ error: ignore, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const exporter = new OTLPTraceExporter({
    // Called before each attempt.
    async headers() {
      stopped.throwIfAborted();
      return {};
    },
  });
  diag.disable();
  return exporter;
}

/** Leaves out the message, which may have the address with a key. */
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
