import type { FastifyReply, FastifyRequest } from 'fastify';
import { NO_SPAN, type Span, type Tracer } from '../../telemetry/spans.ts';
import type { RequestEnd, RequestFollower } from '../request/follow-request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the whole request; what is done for it is part of this. */
    span: Span;
  }
}

/** A span for each request but those of operations: probes and scrapes would bury everything else. */
export class HttpTraces implements RequestFollower {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  begin(request: FastifyRequest): void {
    const { method, headers, route } = request;
    const isOfOperations = route.config?.access?.group === 'operations';
    // The pattern, as in metrics: what has no route may have any text for a path.
    request.span = isOfOperations
      ? NO_SPAN
      : this.#tracer.root(route.url === undefined ? method : `${method} ${route.url}`, 'server', headers);
  }

  over({ span, id, method, route, params, errorCode }: FastifyRequest, { raw }: FastifyReply, end: RequestEnd) {
    if (span.isRecorded) {
      span.set('http.request.method', method);
      if (route.url !== undefined) span.set('http.route', route.url);
      span.set('request.id', id);
      const network = (params as { readonly network?: string } | undefined)?.network;
      if (network !== undefined) span.set('network', network); // as the client calls it
      if (raw.headersSent) span.set('http.response.status_code', raw.statusCode);
      if (!end.isAnswered) span.set('client.gone', true);
      if (errorCode !== undefined) span.set('error.type', errorCode);
      if (raw.headersSent && end.status >= 500) span.fail(errorCode ?? `status ${end.status}`);
    }
    span.end();
  }
}

/** For lines of the log about a request; nothing where nothing is traced. */
export function traceOf({ span }: FastifyRequest): { readonly traceId?: string } {
  return span?.traceID === undefined ? {} : { traceId: span.traceID };
}
