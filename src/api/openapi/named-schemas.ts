import { isDeepStrictEqual } from 'node:util';
import type { EventStreamDescription } from '../../http/request/http-server.ts';
import { type Document, type EventStream, operationsOf } from './openapi-shape.ts';

/** Describes an answer of server-sent events apart from the responses. */
export function describeEventStream({ description, event }: EventStreamDescription): { 'x-event-stream': EventStream } {
  const { title } = event as { readonly title?: string };
  const sentence = `With \`Accept: text/event-stream\` the answer has the status 200 and is ${description}. The schema of an event is ${title}.`;
  return { 'x-event-stream': { description: sentence, schema: event } };
}

/**
 * Moves schemas with a title to the components, so that a generated client has one type for each, and states which integers exceed 32 bits.
 *
 * @throws if two different schemas have the same title
 */
export function shareSchemas(document: Document): void {
  const components = new Components();
  for (const { parameters = [], requestBody, responses, 'x-event-stream': stream } of operationsOf(document)) {
    for (const response of Object.values(responses)) {
      for (const { schema } of Object.values(response.content ?? {})) Object.assign(response, errorCodesOf(schema));
    }
    const bodies = [requestBody, ...Object.values(responses)].flatMap((one) => Object.values(one?.content ?? {}));
    for (const holder of [...parameters, ...bodies, ...(stream ? [stream] : [])]) {
      if (holder.schema !== undefined) holder.schema = components.share(holder.schema) as object;
    }
  }
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, ...Object.fromEntries(components.schemas) },
  };
}

const REFERENCE = '#/components/schemas/';
/** Keywords that belong to the use of a schema, not to the schema. */
const OF_RESPONSE = ['x-response-description', 'x-error-codes'];

function errorCodesOf(schema: object | undefined): Partial<Record<'x-error-codes', readonly string[]>> {
  const { 'x-error-codes': codes } = (schema ?? {}) as { readonly 'x-error-codes'?: readonly string[] };
  return codes === undefined ? {} : { 'x-error-codes': codes };
}

class Components {
  readonly schemas = new Map<string, object>();

  /** Returns the schema with references in place of its titled parts. */
  share(schema: unknown): unknown {
    if (typeof schema !== 'object' || schema === null) return schema;
    if (Array.isArray(schema)) return schema.map((part) => this.share(part));
    const parts = Object.entries(schema).filter(([name]) => !OF_RESPONSE.includes(name));
    const shared = portable(
      Object.fromEntries(parts.map(([name, value]) => [name, name === 'examples' ? value : this.share(value)])),
      discriminatorOf(schema),
    );
    // A record may have a field with the name of the keyword.
    if (typeof shared['title'] !== 'string') return shared;
    return this.#reference(shared['title'], shared);
  }

  /** A use may have an example, or no description. */
  #reference(title: string, used: Readonly<Record<string, unknown>>): object {
    const { description, ...schema } = { ...used };
    delete schema['examples'];
    const { description: known = description, ...before } = (this.schemas.get(title) ?? schema) as typeof schema;
    if (!isDeepStrictEqual(withoutDefaults(before), withoutDefaults(schema)))
      throw new Error(`two schemas have the title ${title}`);
    this.schemas.set(title, { ...withoutDefaults(schema), ...(known !== undefined && { description: known }) });
    return { $ref: `${REFERENCE}${title}` };
  }
}

interface Form {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, { readonly const?: string }>>;
}

interface UnionSchema {
  readonly anyOf?: readonly Form[];
  readonly oneOf?: readonly Form[];
}

/** The field in which each form of a union has another constant, if there is one. */
function discriminatorOf({ anyOf = [], oneOf: forms = anyOf }: UnionSchema): object | undefined {
  const isConstant = (name: string) => forms.every(({ title, properties }) => title && properties?.[name]?.const);
  const propertyName = Object.keys(forms[0]?.properties ?? {}).find(isConstant);
  if (propertyName === undefined) return undefined;
  const mapping = forms.map(({ title, properties }) => [properties?.[propertyName]?.const, `${REFERENCE}${title}`]);
  return { propertyName, mapping: Object.fromEntries(mapping) as object };
}

/** Names the default of each field in its description: openapi-typescript demands fields that have one, also in requests. */
function withoutDefaults(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (typeof schema['properties'] !== 'object' || schema['properties'] === null) return schema;
  const fields = Object.entries(schema['properties'] as Record<string, Readonly<Record<string, unknown>>>);
  const properties = fields.map(([name, { default: byDefault, ...field }]) => {
    if (byDefault === undefined) return [name, field];
    const description = [field['description'], `default: ${JSON.stringify(byDefault)}`].filter(Boolean).join('; ');
    return [name, { ...field, description }];
  });
  return { ...schema, properties: Object.fromEntries(properties) as object };
}

const MAX_INT32 = 2 ** 31 - 1;

/**
 * Returns what generators understand: an integer without a format is one of 32 bits for them, and few support `anyOf`. The forms of a union
 * exclude each other, so it is a `oneOf`.
 */
function portable(
  { anyOf, ...schema }: Readonly<Record<string, unknown>>,
  discriminator: object | undefined,
): Readonly<Record<string, unknown>> {
  if (anyOf !== undefined) return { oneOf: anyOf, ...(discriminator && { discriminator }), ...schema };
  if (discriminator !== undefined) return { ...schema, discriminator };
  const { type, maximum } = schema;
  const isLong = type === 'integer' && !(typeof maximum === 'number' && maximum <= MAX_INT32);
  return isLong ? { ...schema, format: 'int64' } : schema;
}
