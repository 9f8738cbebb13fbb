import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanLimits,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { sleep } from '../primitives/clock.ts';
import type { Counter, Metrics } from './metrics.ts';
import { OtlpExporter, type OtlpExporterOptions } from './otlp-exporter.ts';
import { createTracer } from './recorded-spans.ts';
import type { Tracer } from './spans.ts';

export interface TraceSampling {
  /** Of the traces that begin here, from 0 to 1. */
  readonly ratio: number;
  /** Whether a trace that did not begin here is kept where its beginner keeps it; else the ratio decides of each. */
  readonly isParentBased: boolean;
}

export interface TraceSdkOptions extends Omit<OtlpExporterOptions, 'spans'> {
  readonly metrics: Metrics;
  /** What the spans are of: `service.name` and more. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampling: TraceSampling;
}

/** The tracer of a service whose traces are exported. Disposing of it sends what is left, for as long as that may take. */
export interface TraceSdk extends AsyncDisposable {
  readonly tracer: Tracer;
}

/**
 * Ended and not yet sent, those on their way included: some seconds of spans at a hundred aggregations with 20 validators a second.
 * One takes about 1 KB, and has texts of 16 KiB at most by the limits below. Further ones are dropped.
 */
const MAX_SPANS = 8_192;
/** A request of some 150 KB. */
const MAX_BATCH = 512;
/** An operator who looks for a request finds it after this long. */
const BATCH_DELAY_MS = 2_000;
/** For what is left when the service stops: one answer of a healthy collector, and no reason to hold the process up longer. */
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

/** Loaded only where traces are configured: see docs/traces.md for what it costs. */
export function openTraceSdk(options: TraceSdkOptions): TraceSdk {
  const { clock, logger, metrics, timeoutMs } = options;
  const spans = metrics.counter<'outcome'>({
    name: 'trace_spans_total',
    help: 'Spans of traces by what became of them: exported, failed to be, or dropped as too many were waiting',
    labels: ['outcome'],
  });
  // There from the start, so that the first loss is seen as one.
  for (const outcome of ['failed', 'dropped']) spans.inc({ outcome }, 0);
  const exporter = new OtlpExporter({ ...options, spans });
  const batches = new BatchSpanProcessor({
    exporter: {
      export: (batch, done) =>
        exporter.export(batch, (result) => {
          bounded.sent(batch.length);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    },
    // Ours are dropped before, and counted.
    maxQueueSize: MAX_SPANS,
    maxExportBatchSize: MAX_BATCH,
    scheduledDelayMillis: BATCH_DELAY_MS,
    // The exporter ends by itself before.
    exportTimeoutMillis: 2 * timeoutMs,
  });
  const bounded = new BoundedSpans(batches, spans);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...options.resource }),
    sampler: createSampler(options.sampling),
    spanLimits: SPAN_LIMITS,
    spanProcessors: [bounded],
  });
  return {
    tracer: createTracer(provider.getTracer(options.resource['service.name'] ?? '')),
    async [Symbol.asyncDispose]() {
      const ended = new AbortController();
      // Where one batch fails, the others may still be on their way.
      const flushed = provider
        .shutdown()
        .catch(() => undefined)
        .then(() => exporter.shutdown())
        .then(() => true);
      const late = sleep(clock, LAST_FLUSH_MS, ended.signal).then(
        () => false,
        () => true,
      );
      const isFlushed = await Promise.race([flushed, late]);
      ended.abort();
      if (!isFlushed) logger.warn({ timeoutMs: LAST_FLUSH_MS }, 'the last traces are lost: sending them took too long');
      await exporter[Symbol.asyncDispose]();
    },
  };
}

/** Bounds the spans that wait or are on their way, as the batches bound only those that wait. */
class BoundedSpans implements SpanProcessor {
  readonly #batches: SpanProcessor;
  readonly #dropped: Counter<'outcome'>;
  #held = 0;

  constructor(batches: SpanProcessor, dropped: Counter<'outcome'>) {
    this.#batches = batches;
    this.#dropped = dropped;
  }

  onStart(): void {
    // A span counts when it has ended: until then, those bound it that do the work.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#held >= MAX_SPANS) {
      this.#dropped.inc({ outcome: 'dropped' });
      return;
    }
    this.#held += 1;
    this.#batches.onEnd(span);
  }

  sent(spans: number): void {
    this.#held -= spans;
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}

export function createSampler({ ratio, isParentBased }: TraceSampling): Sampler {
  const root =
    ratio >= 1 ? new AlwaysOnSampler() : ratio <= 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
