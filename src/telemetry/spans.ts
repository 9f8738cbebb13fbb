import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';

/** A piece of work in a trace. Parts of the work are children, which their code starts and ends. Without tracing it is {@link NO_SPAN}. */
export interface Span {
  /** 32 hex digits; undefined without tracing. */
  readonly traceID: string | undefined;
  /** Whether the span is sampled; attributes that are expensive to compute are computed only then. */
  readonly isRecorded: boolean;
  /** W3C trace context for requests of this work; empty without tracing. */
  readonly headers: Readonly<Record<string, string>>;
  child(name: string, kind?: SpanKind): Span;
  set(name: string, value: string | number | boolean): void;
  /** Records that this work waits for another span, which may be of another request. */
  link(to: Span): void;
  fail(reason: string): void;
  /** Ends the span, which must not be changed afterwards. */
  end(): void;
}

/** `server` answers a request, `client` sends one. */
export type SpanKind = 'server' | 'client' | 'internal';

export interface Tracer {
  /** @param headers of the incoming request, which may continue a trace */
  root(name: string, kind: SpanKind, headers: IncomingHttpHeaders): Span;
}

export const NO_SPAN: Span = Object.freeze({
  traceID: undefined,
  isRecorded: false,
  headers: Object.freeze({}),
  child: () => NO_SPAN,
  set: () => undefined,
  link: () => undefined,
  fail: () => undefined,
  end: () => undefined,
});

export const NO_TRACER: Tracer = Object.freeze({ root: () => NO_SPAN });

/** Carries the span across many layers, such as from a request to P-Chain API calls or BLS jobs. Elsewhere spans are arguments. */
const current = new AsyncLocalStorage<Span>();

/** Does work for which {@link currentSpan} is this span. Costs nothing without tracing. */
export function within<T>(span: Span, work: () => T): T {
  return span === NO_SPAN ? work() : current.run(span, work);
}

/** Does work outside of the current trace: a request triggered it, but it is not part of the request. */
export function apart<T>(work: () => T): T {
  return currentSpan() === NO_SPAN ? work() : current.run(NO_SPAN, work);
}

/** Returns {@link NO_SPAN} outside of {@link within}. */
export function currentSpan(): Span {
  return current.getStore() ?? NO_SPAN;
}

/** Does work in a span that ends, and fails, with it. */
export function inSpan<T>(span: Span, work: () => Promise<T>): Promise<T> {
  return span === NO_SPAN ? work() : endAfter(span, work);
}

async function endAfter<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await within(span, work);
  } catch (error) {
    span.fail(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    span.end();
  }
}
