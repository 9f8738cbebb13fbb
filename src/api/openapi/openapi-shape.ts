import type { RouteAccess } from '../../http/access/route-access.ts';

/** The parts of an OpenAPI document that are read or changed here. */

const METHODS = ['get', 'post'] as const;

export interface Operation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  parameters?: readonly {
    readonly in: string;
    readonly name?: string;
    readonly required?: boolean;
    example?: unknown;
    examples?: Record<string, object>;
  }[];
  requestBody?: {
    content?: Record<string, { schema?: object; example?: object; examples?: Record<string, object> }>;
  };
  'x-access'?: RouteAccess;
  description?: string;
  security?: object[];
  responses: Record<string, Response>;
}

export interface Response {
  description?: string | undefined;
  content?: Record<string, { schema?: object; example?: object }>;
  headers?: Record<string, object>;
}

export interface Document {
  components?: {
    securitySchemes?: Record<string, object>;
    headers?: Record<string, object>;
    schemas?: Record<string, object>;
  };
  paths?: Record<string, Partial<Record<(typeof METHODS)[number], Operation>>>;
}

export function operationsOf({ paths = {} }: Document): Operation[] {
  return Object.values(paths).flatMap((operations) => METHODS.flatMap((method) => operations[method] ?? []));
}
