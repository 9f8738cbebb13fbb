import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TSchema } from 'typebox';
import type { ErrorForm } from '../errors/error-form.ts';
import type { RequestContext } from './request-context.ts';
import type { RouteAccess } from './route-access.ts';

/** Fastify whose handlers take their types from the routes' TypeBox schemas. */
export type Server = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** An answer of server-sent events. */
export interface EventStreamDescription {
  /** Continues the sentence "With `Accept: text/event-stream` the answer has the status 200 and is". */
  readonly description: string;
  /** Schema of one event, with a title. */
  readonly event: TSchema;
}

/** All that the service adds to Fastify's types. */
declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook. */
    context: RequestContext;
  }
  interface FastifyContextConfig {
    /** Required of every route: `http/access` refuses a route without it. */
    access?: RouteAccess;
    /** Form of the route's error answers, in place of that of its server. */
    errorForm?: ErrorForm;
    /** The answer to `Accept: text/event-stream`, whose status is 200, for the OpenAPI document. */
    eventStream?: EventStreamDescription;
    /** Whether a record of each request is kept: those for signatures. */
    isRecorded?: boolean;
  }
}
