import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { encodeExactJson, parseExactJson } from '../../src/pchain/codec/exact-json.ts';
import { readObject } from '../../src/pchain/codec/json-fields.ts';

/** A JSON-RPC call that reached the gateway. */
export interface GatewayCall {
  /** For example `/ext/bc/P`. */
  readonly path: string;
  readonly method: string;
  /** By name, or by position: `0`, `1`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly id: unknown;
  readonly headers: IncomingHttpHeaders;
}

export interface GatewayReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Answers a call in place of the API behind the gateway, or with the answer of that API. */
export type GatewayFault = (
  call: GatewayCall,
  forward: () => Promise<GatewayReply>,
) => GatewayReply | Promise<GatewayReply>;

export interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** Acts on each call from now on; undefined passes all calls on. */
  fault: GatewayFault | undefined;
  /** Number of calls that have arrived. */
  readonly callCount: number;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Starts a gateway before the API of a node, as providers have one. */
export async function startGateway(apiUrl: string, fault?: GatewayFault): Promise<Gateway> {
  let callCount = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { url: path = '', headers } = request;
    callCount += 1;
    const { id, method, params } = readObject(parseExactJson(body, 'call'), 'call');
    const named = Array.isArray(params) ? Object.fromEntries(params.entries()) : readObject(params, 'params');
    const forward = async (): Promise<GatewayReply> => {
      const forwarded = await fetch(`${apiUrl}${path}`, { method: 'POST', headers: JSON_TYPE, body });
      return { status: forwarded.status, body: await forwarded.text() };
    };
    const call = { path, method: String(method), params: named, id, headers };
    const reply = await (gateway.fault ?? passOn)(call, forward);
    response.writeHead(reply.status, { ...JSON_TYPE, ...reply.headers }).end(reply.body);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const gateway: Gateway = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault,
    get callCount() {
      return callCount;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return gateway;
}

const passOn: GatewayFault = (_call, forward) => forward();

/** A JSON-RPC error, with the HTTP status 200 as most gateways give it. */
export function rejection({ id }: GatewayCall, code: number, message: string): GatewayReply {
  return { status: 200, body: encodeExactJson({ jsonrpc: '2.0', id, error: { code, message } }) };
}

export function result({ id }: GatewayCall, value: unknown): GatewayReply {
  return { status: 200, body: encodeExactJson({ jsonrpc: '2.0', id, result: value }) };
}
