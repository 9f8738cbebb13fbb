import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * A piece of work in a trace. Whoever does part of that work begins a child of it, and ends the child. Where nothing is traced
 * every span is {@link NO_SPAN}, which does nothing.
 */
export interface Span {
  /** For lines of the log, 32 hex digits; undefined where nothing is traced. */
  readonly traceID: string | undefined;
  /** Whether the span is kept. Attributes that cost something to make are not made for one that is not. */
  readonly isRecorded: boolean;
  /** W3C trace context for requests that are made for this work; empty where nothing is traced. */
  readonly headers: Readonly<Record<string, string>>;
  child(name: string, kind?: SpanKind): Span;
  set(name: string, value: string | number | boolean): void;
  /** Says that this work waits for that of another span, which may be of another request. */
  link(to: Span): void;
  /** Marks the work as failed. */
  fail(reason: string): void;
  /** Nothing may be said of the span any more. */
  end(): void;
}

/** `server` answers somebody, `client` asks somebody; anything else is work of our own. */
export type SpanKind = 'server' | 'client' | 'internal';

/** Begins what is part of nothing else here. */
export interface Tracer {
  /** @param headers of the request that the work is for: they may say of which trace it is part */
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

/**
 * Spans are handed from function to function. Only where many layers lie between those who know the span and those who need it,
 * as between a request and the calls of the P-Chain API or the jobs of the BLS threads, does it go along with the asynchronous work.
 */
const current = new AsyncLocalStorage<Span>();

/** Does work for which {@link currentSpan} is this span. Costs nothing where nothing is traced. */
export function within<T>(span: Span, work: () => T): T {
  return span === NO_SPAN ? work() : current.run(span, work);
}

/** Does work that a request brought about and that is no part of it, so that it is in no trace. */
export function apart<T>(work: () => T): T {
  return currentSpan() === NO_SPAN ? work() : current.run(NO_SPAN, work);
}

/** {@link NO_SPAN} outside of {@link within}. */
export function currentSpan(): Span {
  return current.getStore() ?? NO_SPAN;
}

/** Does work in a span that ends with it, and has failed where the work has. */
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
