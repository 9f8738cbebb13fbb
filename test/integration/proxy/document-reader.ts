/** The keywords of JSON Schema that the OpenAPI document uses. */
export interface Described {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly required?: readonly string[];
  readonly items?: Described;
  readonly oneOf?: readonly Described[];
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly $ref?: string;
}

/** How the page of the API fills in a parameter or a body. */
export interface Filled {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Parameter extends Filled {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Described;
}

interface Content {
  readonly content?: { readonly 'application/json': Filled & { readonly schema: Described } };
}

export interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly headers?: Readonly<Record<string, object>> }>>;
  readonly security?: readonly object[];
  readonly 'x-methods'?: Readonly<Record<string, DescribedMethod>>;
}

interface DescribedMethod {
  readonly params: Described;
  readonly result: Described;
  readonly deprecatedSince?: string;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Described>> };
}

/** @param url of the service */
export async function readDocument({ url }: { readonly url: string }) {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
  const { schemas } = document.components;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  /** Puts the components in the place of references, at all depths. */
  const resolve = (schema: Described | undefined): Described => {
    const inlined = (part: unknown): unknown => {
      if (typeof part !== 'object' || part === null) return part;
      if (Array.isArray(part)) return part.map(inlined);
      const { $ref } = part as Described;
      if (typeof $ref === 'string') return inlined(schemas[$ref.split('/').at(-1) ?? '']);
      return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, inlined(value)]));
    };
    return inlined(schema ?? {}) as Described;
  };
  const operationOf = (operationId: string): Operation =>
    operations.find(({ operation }) => operation.operationId === operationId)!.operation;
  return {
    document,
    schemas,
    operations,
    resolve,
    operationOf,
    schemaOf: (operationId: string, status: number): Described =>
      resolve(operationOf(operationId).responses[status]?.content?.['application/json'].schema),
    /** Methods of the node's JSON-RPC that a call may have. */
    methods(): readonly string[] {
      const body = operationOf('callNode').requestBody?.content?.['application/json'].schema;
      return resolve(body).oneOf?.[0]?.properties?.['method']?.enum ?? [];
    },
    /** Params and results of these methods. */
    describedMethods: () => operationOf('callNode')['x-methods'] ?? {},
  };
}
