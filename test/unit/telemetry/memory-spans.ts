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
  /** Those that have ended, in the order of their ends. */
  ended(name?: string): ReadableSpan[];
  /** The only one of this name. */
  only(name: string): ReadableSpan;
}

/** A tracer whose spans a test reads; all are kept where no sampler says otherwise. */
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
