import type { RouteAccess } from '../../http/request/route-access.ts';

/** The parts of an OpenAPI document that are read or changed here. */
export interface Document {
  components?: Partial<Record<'securitySchemes' | 'headers' | 'schemas', Record<string, object>>>;
  paths?: Record<string, { get?: Operation; post?: Operation }>;
}

interface Media {
  schema?: object;
  example?: object;
  examples?: Record<string, object>;
}

/** The answer to `Accept: text/event-stream`: no response of the document, because generated clients would take it for the result. */
export interface EventStream {
  readonly description: string;
  /** Of one event. */
  schema: object;
}

export interface Operation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  parameters?: readonly {
    readonly in: string;
    readonly name?: string;
    readonly required?: boolean;
    schema?: object;
    example?: unknown;
    examples?: Record<string, object>;
  }[];
  requestBody?: { content?: Record<string, Media> };
  'x-access'?: RouteAccess;
  'x-event-stream'?: EventStream;
  description?: string;
  security?: object[];
  responses: Record<string, Response>;
}

export interface Response {
  description?: string | undefined;
  content?: Record<string, Media>;
  headers?: Record<string, object>;
  /** Codes that an error may have with this status on this route. */
  'x-error-codes'?: readonly string[];
}

export function operationsOf({ paths = {} }: Document): Operation[] {
  return Object.values(paths).flatMap(({ get, post }) => [get, post].filter((operation) => operation !== undefined));
}
