import type { JsonRpcClient } from './json-rpc.ts';

/** Returns a client whose calls reject at once with what `check` throws. Its disposal closes `client`. */
export function createCheckedClient(client: JsonRpcClient, check: () => void): JsonRpcClient {
  return {
    useEndpoints: (endpoints) => client.useEndpoints(endpoints),
    async call(call) {
      check();
      return await client.call(call);
    },
    async callAtEndpoints(call) {
      check();
      return await client.callAtEndpoints(call);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
