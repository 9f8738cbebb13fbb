/** The keywords of JSON Schema that the OpenAPI document uses. */
export interface Described {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly required?: readonly string[];
  readonly items?: Described;
  readonly anyOf?: readonly Described[];
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly deprecated?: boolean;
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
  /** Finds a schema that stands once in the document. */
  const resolve = (schema: Described | undefined): Described =>
    (schema?.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1) ?? '']) ?? {};
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
    /** The calls of the node's JSON-RPC, each with one method. */
    calls(): Described[] {
      const body = operationOf('callNode').requestBody?.content?.['application/json'].schema;
      return (body?.anyOf?.[0]?.anyOf ?? []).map(resolve);
    },
  };
}
