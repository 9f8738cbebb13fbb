import type { Dispatcher } from 'undici';
import { createEvmMethods } from '../../src/devnet/node/evm-methods.ts';
import { MethodError } from '../../src/devnet/node/node-api-methods.ts';
import type { EvmChain } from '../../src/devnet/pchain/evm-chain.ts';
import { type Clock, sleep } from '../../src/lib/concurrency/clock.ts';
import type { OpenHttp } from '../../src/lib/net/http-port.ts';
import { encodeExactJson } from '../../src/pchain/codec/exact-json.ts';
import type { EvmFault } from './evm-faults.ts';
import type { GatewayCall, GatewayReply } from './gateway.ts';

/** An endpoint of a chain of the devnet, in the time of its clock. */
export interface EvmRpc {
  readonly openHttp: OpenHttp;
  fault: EvmFault | undefined;
  /** Calls so far, by method. */
  readonly calls: ReadonlyMap<string, number>;
}

const LATENCY_MS = 1;

/** Simulates HTTP to the RPC of a chain. */
export function createEvmRpc(chain: EvmChain, clock: Clock): EvmRpc {
  const methods = createEvmMethods(chain);
  const calls = new Map<string, number>();
  let callCount = 0;
  const startedMs = clock.monotonicMs();

  function forward({ method, params, id }: GatewayCall): GatewayReply {
    const { 0: first } = params;
    const given = method === 'eth_getLogs' ? (first as Record<string, unknown>) : params;
    try {
      const result = methods[method]?.(given);
      return { status: 200, body: encodeExactJson({ jsonrpc: '2.0', id, result }) };
    } catch (error) {
      if (!(error instanceof MethodError)) throw error;
      return {
        status: 200,
        body: encodeExactJson({ jsonrpc: '2.0', id, error: { code: -32_000, message: error.message } }),
      };
    }
  }

  async function answer(body: string): Promise<GatewayReply> {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] };
    const call: GatewayCall = { path: '', method, params: { ...params }, id, headers: {} };
    calls.set(method, (calls.get(method) ?? 0) + 1);
    callCount += 1;
    const ownCount = callCount;
    await sleep(clock, LATENCY_MS);
    const world = {
      callCount: ownCount,
      head: chain.height,
      elapsedMs: clock.monotonicMs() - startedMs,
      sleep: (ms: number) => sleep(clock, ms),
    };
    return rpc.fault === undefined ? forward(call) : await rpc.fault(call, async () => forward(call), world);
  }

  async function request({ body, signal }: Dispatcher.RequestOptions) {
    const ended = Promise.withResolvers<never>();
    const abort = (): void => ended.reject((signal as AbortSignal).reason);
    (signal as AbortSignal).addEventListener('abort', abort, { once: true });
    const reply = await Promise.race([answer(body as string), ended.promise]);
    const chunks = [Buffer.from(reply.body)];
    return {
      statusCode: reply.status,
      headers: { ...reply.headers },
      body: (async function* read() {
        yield* chunks;
      })(),
    };
  }

  const dispatcher = { request, destroy: () => Promise.resolve() } as unknown as Dispatcher;
  const rpc: EvmRpc = { openHttp: () => dispatcher, fault: undefined, calls };
  return rpc;
}
