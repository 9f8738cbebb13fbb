import { ErrorBodySchema } from './error-body.ts';

const METHODS = ['get', 'post'] as const;
/** Paths below which keys and rate limits count. */
const LIMITED_PATH = /^\/(v1|ext)\//;
const ACCESS_ERRORS = {
  401: 'The API key is not known',
  403: 'The API key is not for this route',
  429: 'Too many units in a minute; Retry-After says when to come again',
};

interface Operation {
  security?: object[];
  responses: Record<string, object>;
}

interface Document {
  components?: { securitySchemes?: Record<string, object> };
  paths?: Record<string, Partial<Record<(typeof METHODS)[number], Operation>>>;
}

/** Adds to each operation that keys and rate limits count for what they may answer. */
export function describeAccess(document: Document): void {
  document.components = {
    ...document.components,
    securitySchemes: {
      serviceApiKey: { type: 'apiKey', in: 'header', name: 'x-service-api-key', description: 'Raises the rate limits' },
      glacierApiKey: {
        type: 'apiKey',
        in: 'header',
        name: 'x-glacier-api-key',
        description: 'The same by its other name',
      },
    },
  };
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    if (!LIMITED_PATH.test(path)) continue;
    for (const operation of METHODS.flatMap((method) => operations[method] ?? [])) {
      operation.security = [{}, { serviceApiKey: [] }, { glacierApiKey: [] }];
      for (const [status, description] of Object.entries(ACCESS_ERRORS)) {
        operation.responses[status] = { description, content: { 'application/json': { schema: ErrorBodySchema } } };
      }
    }
  }
}
