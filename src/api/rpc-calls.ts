import { encodeExactJson, parseExactJson } from '../pchain/exact-json.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { BadRequest } from './error-handler.ts';

export interface RpcLimits {
  /** Names of the methods let through, as the node spells them. */
  readonly methods: ReadonlySet<string>;
  /** Most calls in one batch. */
  readonly maxBatch: number;
}

const KNOWN_FIELDS = new Set(['jsonrpc', 'id', 'method', 'params']);

/**
 * Checks a JSON-RPC request or batch, each of its calls.
 *
 * @returns JSON of what was checked and of nothing else. The node would take `Method` for `method`, and the last of two
 * equal fields: so its text is written anew, and fields that do not belong there are refused.
 * @throws {BadRequest} naming the field
 */
export function checkRpcCalls(text: string, limits: RpcLimits): string {
  let body: unknown;
  try {
    body = parseExactJson(text, 'body');
  } catch (error) {
    if (error instanceof ParseError) throw new BadRequest('body is not valid JSON', { cause: error });
    throw error;
  }
  if (!Array.isArray(body)) return encodeExactJson(checkCall(body, '', limits));
  if (body.length === 0) throw new BadRequest('body is an empty batch: at least one call is needed');
  if (body.length > limits.maxBatch) {
    throw new BadRequest(`body is a batch of ${body.length} calls, at most ${limits.maxBatch} are allowed`);
  }
  return encodeExactJson(body.map((call, index) => checkCall(call, `[${index}]`, limits)));
}

function checkCall(call: unknown, at: string, { methods }: RpcLimits): unknown {
  const name = (field: string): string => (at === '' ? field : `${at}.${field}`);
  if (typeof call !== 'object' || call === null || Array.isArray(call)) {
    throw new BadRequest(`${at === '' ? 'body' : at} must be an object {jsonrpc, id, method, params}`);
  }
  const unknown = Object.keys(call).find((field) => !KNOWN_FIELDS.has(field));
  if (unknown !== undefined) throw new BadRequest(`unknown field ${JSON.stringify(name(unknown).slice(0, 100))}`);
  const { jsonrpc, id, method, params } = call as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0') throw new BadRequest(`${name('jsonrpc')} must be "2.0"`);
  if (typeof id !== 'number' && typeof id !== 'string')
    throw new BadRequest(`${name('id')} must be a number or a string`);
  if (typeof method !== 'string') throw new BadRequest(`${name('method')} must be a string`);
  if (!methods.has(method)) {
    throw new BadRequest(
      `${name('method')} ${JSON.stringify(method.slice(0, 100))} is not allowed here; allowed are: ${[...methods].join(', ')}`,
    );
  }
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params))) {
    throw new BadRequest(`${name('params')} must be an object`);
  }
  return { jsonrpc, id, method, ...(params !== undefined && { params }) };
}
