import fastify, { type FastifyInstance } from 'fastify';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { encodeExactJson, parseExactJson } from '../../pchain/codec/exact-json.ts';
import { type JsonObject, readObject } from '../../pchain/codec/json-fields.ts';
import { P_CHAIN_ID } from '../../warp/ids.ts';
import { createEvmMethods } from './evm-methods.ts';
import {
  createAvmMethods,
  createInfoMethods,
  createPlatformMethods,
  createProposervmMethods,
  MethodError,
  type Methods,
  type NodeApiSubject,
} from './node-api-methods.ts';

/** JSON-RPC 2.0 codes, as the reference node's library gives them. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const SERVER_ERROR = -32000;

/** A list of 2,000 NodeIDs fits. */
const BODY_LIMIT = 256 * 1024;

/**
 * The part of a node's API that an aggregator or a wallet of its L1 needs: the P-Chain on `/ext/bc/P` and `/ext/P`, info on `/ext/info`,
 * the X-Chain's transactions, the receipts of EVM chains, and the epoch of each chain. A method's error has the HTTP status 200, as a
 * node's has.
 */
export function createNodeApiServer(subject: NodeApiSubject): FastifyInstance {
  const serve = (path: string, methods: Methods): void => {
    server.post(path, async (request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8');
      return encodeExactJson(answer(methods, typeof request.body === 'string' ? request.body : ''));
    });
  };
  const server = fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: true });
  server.removeAllContentTypeParsers();
  // As text, so that integers beyond 2^53 keep their digits.
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  for (const path of ['/ext/bc/P', '/ext/P']) serve(path, createPlatformMethods(subject));
  serve('/ext/info', createInfoMethods(subject));
  const { xChainID, cChain, l1Chain, strictChain } = subject.model;
  for (const chain of ['X', xChainID]) serve(`/ext/bc/${chain}`, createAvmMethods(subject));
  for (const chain of ['C', cChain.blockchainID]) serve(`/ext/bc/${chain}/rpc`, createEvmMethods(cChain));
  const ofL1 = [l1Chain, strictChain];
  for (const chain of ofL1) serve(`/ext/bc/${chain.blockchainID}/rpc`, createEvmMethods(chain));
  const ofPrimary = [P_CHAIN_ID, 'P', xChainID, 'X', cChain.blockchainID, 'C'];
  const chains = [...ofPrimary, ...ofL1.map(({ blockchainID }) => blockchainID)];
  for (const chain of chains) serve(`/ext/bc/${chain}/proposervm`, createProposervmMethods(subject));
  return server;
}

function answer(methods: Methods, body: string): unknown {
  const call = attempt(() => readObject(parseExactJson(body, 'request'), 'request'));
  if (call instanceof ParseError) return failure(PARSE_ERROR, call.message, null);
  const id = call.id ?? null;
  if (call.jsonrpc !== '2.0') return failure(INVALID_REQUEST, 'jsonrpc must be 2.0', id);
  const method =
    typeof call.method === 'string' && Object.hasOwn(methods, call.method) ? methods[call.method] : undefined;
  if (method === undefined) return failure(SERVER_ERROR, `rpc: can't find method ${JSON.stringify(call.method)}`, id);
  try {
    return { jsonrpc: '2.0', result: method(readParams(call.params)), id };
  } catch (error) {
    if (error instanceof MethodError) return failure(SERVER_ERROR, error.message, id);
    if (error instanceof ParseError)
      return failure(SERVER_ERROR, `couldn't unmarshal an argument: ${error.message}`, id);
    throw error;
  }
}

/** Accepts an object, an array with one object, or positional values. @throws {ParseError} */
function readParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (!Array.isArray(params)) return readObject(params, 'params');
  const [first] = params;
  return params.length === 1 && typeof first !== 'string'
    ? readObject(first, 'params')
    : Object.fromEntries(params.entries());
}

function failure(code: number, message: string, id: unknown): unknown {
  return { jsonrpc: '2.0', error: { code, message, data: null }, id };
}
