import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createTracer } from '../../../src/telemetry/recorded-spans.ts';
import type { Tracer } from '../../../src/telemetry/spans.ts';

export interface MemorySpans {
  readonly tracer: Tracer;
  /** Ended spans, in the order of their ends. */
  ended(name?: string): ReadableSpan[];
  /** The only ended span of this name. */
  only(name: string): ReadableSpan;
}

/** Creates a tracer whose spans a test reads; all are sampled by default. */
export function createMemorySpans(sampler?: Sampler): MemorySpans {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...(sampler && { sampler }),
  });
  const ended = (name?: string): ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name);
  return {
    tracer: createTracer(provider.getTracer('test')),
    ended,
    only(name) {
      const [span, ...others] = ended(name);
      if (span === undefined || others.length > 0) throw new Error(`${others.length + Number(!!span)} spans ${name}`);
      return span;
    },
  };
}
