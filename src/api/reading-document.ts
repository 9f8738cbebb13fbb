import type { Document, Operation, Response } from './openapi-shape.ts';

/** The lowest status of an error. */
const FIRST_ERROR = 400;

/**
 * The document as people read it: what may go wrong is one block for each operation, in place of ten that differ in little. Changes
 * the document that it is given.
 */
export function describeForReading(document: Document): Document {
  for (const operations of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(operations)) {
      moveStream(operation);
      mergeErrors(operation, document);
    }
  }
  return document;
}

/** Behind the plain answer, or the page would ask for events by itself. The key is a class of statuses, as OpenAPI lets it be. */
function moveStream({ responses }: Operation): void {
  const { '200': stream } = responses;
  if (stream?.content?.['text/event-stream'] === undefined) return;
  delete responses['200'];
  responses['2XX'] = stream;
}

function mergeErrors(operation: Operation, document: Document): void {
  const { responses } = operation;
  const statuses = Object.keys(responses).filter((status) => Number(status) >= FIRST_ERROR);
  const errors = statuses.flatMap((status) => responses[status] ?? []);
  const [first] = errors;
  if (first === undefined) return;
  const lines = statuses.map((status) => `- **${status}** ${describeStatus(responses[status], document)}`);
  for (const status of statuses) delete responses[status];
  responses['default'] = {
    ...first,
    description: `Errors, by their status\n\n${lines.join('\n')}`,
    headers: Object.assign({}, ...errors.map(({ headers }) => headers)) as Record<string, object>,
  };
}

/** Its codes, which the guide to errors explains; in words where the errors have no codes. */
function describeStatus(response: Response | undefined, { components }: Document): string {
  const schema = Object.values(response?.content ?? {})[0]?.schema as SchemaOfError | undefined;
  const name = schema?.$ref?.split('/').at(-1) ?? '';
  const { properties } = (components?.schemas?.[name] as SchemaOfError | undefined) ?? schema ?? {};
  const codes = properties?.code?.enum;
  return codes === undefined ? (response?.description ?? '') : codes.map((code) => `\`${code}\``).join(', ');
}

interface SchemaOfError {
  readonly $ref?: string;
  readonly properties?: { readonly code?: { readonly enum?: readonly string[] } };
}
