import { badRequest } from './http-error.ts';

export interface RpcLimits {
  /** Names of the methods let through, as the node spells them. */
  readonly methods: ReadonlySet<string>;
  /** Most calls in one batch. */
  readonly maxBatch: number;
}

export interface CheckedCalls {
  /** JSON of what was checked and of nothing else. */
  readonly body: string;
  readonly count: number;
}

const KNOWN_FIELDS = new Set(['jsonrpc', 'id', 'method', 'params']);
/** Parameters of the node's methods have four levels at most; what reads a body by recursion must not run out of stack. */
const MAX_DEPTH = 32;

/**
 * Checks a JSON-RPC request or batch, each of its calls. The node would take `Method` for `method`, and the last of two
 * equal fields: so each call is put together anew from the fields that were checked, and fields that do not belong there are
 * refused. `id` and `params` stay as they were written, with all digits of their numbers.
 *
 * @throws {BadRequest} naming the field
 */
export function checkRpcCalls(text: string, limits: RpcLimits): CheckedCalls {
  const parsed = parseJson(text);
  if (!Array.isArray(parsed)) return { body: checkCall(parsed, text, '', limits), count: 1 };
  if (parsed.length === 0) throw badRequest('body is an empty batch: at least one call is needed');
  if (parsed.length > limits.maxBatch) {
    throw badRequest(`body is a batch of ${parsed.length} calls, at most ${limits.maxBatch} are allowed`);
  }
  const calls = splitJson(text).map((source, index) => checkCall(parsed[index], source, `[${index}]`, limits));
  return { body: `[${calls.join(',')}]`, count: calls.length };
}

/** The call's JSON, from its value and the text that it was parsed from. */
function checkCall(call: unknown, source: string, at: string, { methods }: RpcLimits): string {
  const name = (field: string): string => (at === '' ? field : `${at}.${field}`);
  if (typeof call !== 'object' || call === null || Array.isArray(call)) {
    throw badRequest(`${at === '' ? 'body' : at} must be an object {jsonrpc, id, method, params}`);
  }
  const unknown = Object.keys(call).find((field) => !KNOWN_FIELDS.has(field));
  if (unknown !== undefined) throw badRequest(`unknown field ${JSON.stringify(name(unknown).slice(0, 100))}`);
  const { jsonrpc, id, method, params } = call as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0') throw badRequest(`${name('jsonrpc')} must be "2.0"`);
  if (typeof id !== 'number' && typeof id !== 'string') throw badRequest(`${name('id')} must be a number or a string`);
  if (typeof method !== 'string') throw badRequest(`${name('method')} must be a string`);
  if (!methods.has(method)) {
    throw badRequest(
      `${name('method')} ${JSON.stringify(method.slice(0, 100))} is not allowed here; allowed are: ${[...methods].join(', ')}`,
    );
  }
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params))) {
    throw badRequest(`${name('params')} must be an object`);
  }
  const written = sourcesOf(source);
  const withParams = params === undefined ? '' : `,"params":${written.get('params')}`;
  return `{"jsonrpc":"2.0","id":${written.get('id')},"method":${JSON.stringify(method)}${withParams}}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badRequest('body is not valid JSON', { cause });
  }
}

/** Of each field of an object its value as it is written; of equal fields that of the last, as `JSON.parse` has it. */
function sourcesOf(object: string): ReadonlyMap<string, string> {
  return new Map(
    splitJson(object).map((member) => {
      const end = endOfText(member, member.indexOf('"')) + 1;
      return [JSON.parse(member.slice(0, end)) as string, member.slice(member.indexOf(':', end) + 1).trim()] as const;
    }),
  );
}

/**
 * What is written between the brackets and commas of an array or object that is valid JSON and not empty.
 *
 * @throws {BadRequest} where it is nested too deep
 */
function splitJson(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charAt(at)) {
      case '"':
        at = endOfText(text, at);
        break;
      case '[':
      case '{':
        depth += 1;
        if (depth === 1) start = at + 1;
        if (depth > MAX_DEPTH) throw badRequest(`body is nested in more than ${MAX_DEPTH} levels`);
        break;
      case ']':
      case '}':
        depth -= 1;
        if (depth === 0) parts.push(text.slice(start, at));
        break;
      case ',':
        if (depth === 1) {
          parts.push(text.slice(start, at));
          start = at + 1;
        }
        break;
    }
  }
  return parts;
}

/** Where the quotation mark is that ends the text begun by the one at `start`. */
function endOfText(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}
