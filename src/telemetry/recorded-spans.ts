import {
  type Span as ApiSpan,
  SpanKind as ApiSpanKind,
  type Tracer as ApiTracer,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Span, SpanKind, Tracer } from './spans.ts';

const KINDS: Readonly<Record<SpanKind, ApiSpanKind>> = {
  server: ApiSpanKind.SERVER,
  client: ApiSpanKind.CLIENT,
  internal: ApiSpanKind.INTERNAL,
};

/** The SDK limits attributes but not this text, which may have text of peers and upstreams. */
const MAX_REASON_LENGTH = 256;

const propagator = new W3CTraceContextPropagator();

export function createTracer(tracer: ApiTracer): Tracer {
  return {
    root(name, kind, headers) {
      const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
      return new RecordedSpan(tracer, tracer.startSpan(name, { kind: KINDS[kind] }, parent));
    },
  };
}

class RecordedSpan implements Span {
  readonly #tracer: ApiTracer;
  readonly #span: ApiSpan;
  readonly #context: Context;
  #headers: Record<string, string> | undefined;

  constructor(tracer: ApiTracer, span: ApiSpan) {
    this.#tracer = tracer;
    this.#span = span;
    this.#context = trace.setSpan(ROOT_CONTEXT, span);
  }

  get traceID(): string {
    return this.#span.spanContext().traceId;
  }

  get isRecorded(): boolean {
    return this.#span.isRecording();
  }

  get headers(): Readonly<Record<string, string>> {
    if (this.#headers === undefined) {
      this.#headers = {};
      propagator.inject(this.#context, this.#headers, defaultTextMapSetter);
    }
    return this.#headers;
  }

  /** In a trace that is not sampled, this span stands for its children: requests carry its context. */
  child(name: string, kind: SpanKind = 'internal'): Span {
    if (!this.#span.isRecording()) return this;
    return new RecordedSpan(this.#tracer, this.#tracer.startSpan(name, { kind: KINDS[kind] }, this.#context));
  }

  set(name: string, value: string | number | boolean): void {
    this.#span.setAttribute(name, value);
  }

  link(to: Span): void {
    if (to instanceof RecordedSpan && to.isRecorded) this.#span.addLink({ context: to.#span.spanContext() });
  }

  fail(reason: string): void {
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: reason.slice(0, MAX_REASON_LENGTH) });
  }

  end(): void {
    this.#span.end();
  }
}
