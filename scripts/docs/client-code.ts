import { compile } from 'json-schema-to-typescript';
import { ERROR_CODES } from '../../src/http/errors/error-codes.ts';
import { describeService } from './service.ts';

/** The parts of an OpenAPI document that are read here. */
interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface ApiOperation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: object;
  }[];
}

/** Tags of the operations that the client calls. */
const TAGS: ReadonlySet<string> = new Set(['Signature aggregation', 'Feed', 'Requests']);
const BANNER = '/** Written by `npm run generate`. */';
const REFERENCE = '#/components/schemas/';

/** The files of src/client/gen: the types of the client's calls, and the advice of each error code. */
export async function clientCode(): Promise<ReadonlyMap<string, string>> {
  const { openApi } = await describeService();
  const advice = Object.entries(ERROR_CODES).map(([code, { retry }]) => `  ${code}: '${retry}',`);
  const adviceFile = [
    BANNER,
    "export const RETRY_ADVICE: Readonly<Record<string, 'never' | 'after_change' | 'may_pass'>> = {",
    ...advice,
    '};',
    '',
  ];
  return new Map([
    ['src/client/gen/api.ts', await typesOf(openApi as ApiDocument)],
    ['src/client/gen/retry-advice.ts', adviceFile.join('\n')],
  ]);
}

async function typesOf({ paths, components }: ApiDocument): Promise<string> {
  const operations = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ tags = [] }) => tags.some((tag) => TAGS.has(tag)));
  const queries = operations.flatMap(queryOf);
  const names = reachable([...operations, ...queries.map(([, schema]) => schema)], components.schemas);
  const schemas = names.map((name) => [name, withoutLists(components.schemas[name])] as const);
  const definitions = withTitles(Object.fromEntries([...queries, ...schemas]));
  return compile({ type: 'object', definitions, additionalProperties: false }, 'Unused', {
    bannerComment: BANNER,
    additionalProperties: false,
    unreachableDefinitions: true,
    strictIndexSignatures: true,
    format: true,
    style: { singleQuote: true, printWidth: 120 },
  });
}

/** Leaves out the lists of a description: that of the error codes is as long as all other types together. */
function withoutLists(schema: object | undefined): object {
  const { description = '', ...rest } = (schema ?? {}) as { readonly description?: string };
  const [first = ''] = description.split('\n', 1);
  return first === '' ? rest : { ...rest, description: first };
}

/** The query parameters of an operation as a schema. */
function queryOf({ operationId, parameters = [] }: ApiOperation): (readonly [string, object])[] {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  if (query.length === 0) return [];
  const properties = Object.fromEntries(
    query.map(({ name, schema, description }) => [name, { ...schema, description }]),
  );
  const required = query.filter((parameter) => parameter.required).map(({ name }) => name);
  const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`;
  return [[name, { type: 'object', properties, required }]];
}

/** Names of the components that the given parts of the document refer to, at all depths. */
function reachable(parts: readonly object[], schemas: ApiDocument['components']['schemas']): string[] {
  const found = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [key, value] of Object.entries(part)) {
      if (key !== '$ref' || typeof value !== 'string') visit(value);
      else if (value.startsWith(REFERENCE) && !found.has(value)) {
        found.add(value);
        visit(schemas[value.slice(REFERENCE.length)]);
      }
    }
  };
  parts.forEach(visit);
  return [...found].map((reference) => reference.slice(REFERENCE.length)).toSorted();
}

/** Names each definition by its title, and refers to definitions. */
function withTitles(definitions: Readonly<Record<string, unknown>>): Record<string, object> {
  const text = JSON.stringify(definitions).replaceAll(REFERENCE, '#/definitions/');
  const parsed = JSON.parse(text) as Record<string, object>;
  return Object.fromEntries(Object.entries(parsed).map(([name, schema]) => [name, { ...schema, title: name }]));
}
