import { MAX_SHOWN_LENGTH } from '../../http/errors/http-error.ts';
import { isObject } from '../../lib/encoding/is-object.ts';
import { findExcess, membersOf, splitJson } from '../../lib/encoding/json-source.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';

/** The most calls of a batch. */
export const MAX_BATCH = 20;

interface CheckedCalls {
  /** JSON of the checked fields only. */
  readonly body: string;
  readonly count: number;
}

const RPC_CODES = { parse: -32_700, request: -32_600, method: -32_601, params: -32_602 } as const;

/** A mistake in a JSON-RPC body, answered as a JSON-RPC error with HTTP 400. */
export class RpcCallError extends Error {
  override readonly name = 'RpcCallError';
  readonly status = 400;
  readonly #rpcCode: number;
  readonly #id: string;

  constructor(
    kind: keyof typeof RPC_CODES,
    message: string,
    { id = 'null', cause }: { id?: string; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.#rpcCode = RPC_CODES[kind];
    this.#id = id;
  }

  /** `data` has the code and the status of the service's other errors. */
  toJson(): string {
    const data = { code: 'invalid_request', statusCode: this.status };
    const error = JSON.stringify({ code: this.#rpcCode, message: this.message, data });
    return `{"jsonrpc":"2.0","id":${this.#id},"error":${error}}`;
  }
}

const MISSING_BODY = 'body is missing: a JSON-RPC call is needed, with the header content-type: application/json';
const KNOWN_FIELDS = new Set(['jsonrpc', 'id', 'method', 'params']);
/** The node's methods need four levels; the bound protects recursive parsers. */
const MAX_DEPTH = 32;

/**
 * Checks each call of a JSON-RPC request or batch. The node would accept `Method` for `method`, and the last of two equal fields, so
 * each call is rebuilt from its checked fields, and unknown fields are rejected. `id` and `params` stay as written, with all digits: a
 * reviver of `JSON.parse` would block the event loop for 100 ms on a long body.
 *
 * @param text of the body; anything else is a missing body
 * @throws {RpcCallError} naming the field, with the ID of the call
 */
export function checkRpcCalls(text: unknown, methods: ReadonlySet<string>): CheckedCalls {
  if (typeof text !== 'string' || text === '') throw new RpcCallError('parse', MISSING_BODY);
  checkDepth(text);
  const parsed = attempt(() => parseJson(text, 'body'));
  if (parsed instanceof ParseError) throw new RpcCallError('parse', 'body is not valid JSON', { cause: parsed });
  if (!Array.isArray(parsed)) return { body: checkCall(parsed, text, '', methods), count: 1 };
  if (parsed.length === 0) throw new RpcCallError('request', 'body is an empty batch: at least one call is needed');
  if (parsed.length > MAX_BATCH) {
    throw new RpcCallError('request', `body is a batch of ${parsed.length} calls, at most ${MAX_BATCH} are allowed`);
  }
  const calls = splitJson(text).map((source, index) => checkCall(parsed[index], source, `[${index}]`, methods));
  return { body: `[${calls.join(',')}]`, count: calls.length };
}

function checkDepth(text: string): void {
  if (findExcess(text, { levels: MAX_DEPTH }) !== undefined) {
    throw new RpcCallError('request', `body is nested in more than ${MAX_DEPTH} levels`);
  }
}

/** @param source the text from which the call was parsed */
function checkCall(call: unknown, source: string, at: string, methods: ReadonlySet<string>): string {
  const name = (field: string): string => (at === '' ? field : `${at}.${field}`);
  if (!isObject(call)) {
    throw new RpcCallError('request', `${at === '' ? 'body' : at} must be an object {jsonrpc, id, method, params}`);
  }
  const { jsonrpc, id, method, params } = call;
  if (typeof id !== 'number' && typeof id !== 'string') {
    throw new RpcCallError('request', `${name('id')} must be a number or a string`);
  }
  // The last of equal fields counts, as in JSON.parse.
  const written = new Map(membersOf(source));
  const writtenId = String(written.get('id'));
  const fail = (kind: keyof typeof RPC_CODES, message: string): never => {
    throw new RpcCallError(kind, message, { id: writtenId });
  };
  const unknown = Object.keys(call).find((field) => !KNOWN_FIELDS.has(field));
  if (unknown !== undefined)
    fail('request', `unknown field ${JSON.stringify(name(unknown).slice(0, MAX_SHOWN_LENGTH))}`);
  if (jsonrpc !== '2.0') fail('request', `${name('jsonrpc')} must be "2.0"`);
  if (typeof method !== 'string') return fail('request', `${name('method')} must be a string`);
  if (!methods.has(method)) {
    const shown = JSON.stringify(method.slice(0, MAX_SHOWN_LENGTH));
    fail('method', `${name('method')} ${shown} is not allowed here; allowed are: ${[...methods].join(', ')}`);
  }
  if (!areParams(params)) fail('params', `${name('params')} must be an object, or a list with one object in it`);
  const withParams = isNothing(params) ? '' : `,"params":${written.get('params')}`;
  return `{"jsonrpc":"2.0","id":${writtenId},"method":${JSON.stringify(method)}${withParams}}`;
}

/** Nodes accept no parameters, an object, or a list with one object. */
function areParams(params: unknown): boolean {
  if (isNothing(params)) return true;
  const [only, ...more] = [params].flat();
  return more.length === 0 && isObject(only);
}

/** All spellings of no parameters; none is passed on. */
function isNothing(params: unknown): boolean {
  return params === undefined || params === null || (Array.isArray(params) && params.length === 0);
}
