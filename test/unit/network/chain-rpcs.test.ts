import { beforeEach, expect, test } from 'vitest';
import type { ApiEndpoint } from '../../../src/lib/net/api-endpoint.ts';
import { openChainRpcs } from '../../../src/network/chain-rpcs.ts';
import type { EvmChainID } from '../../../src/pchain/rpc/evm-api.ts';
import type { JsonRpcCall, JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { chainNumbered } from '../feed/emitted.ts';

const [A, B, NODE] = ['https://a.test', 'https://b.test', 'https://node.test'].map((baseUrl) => ({ baseUrl })) as [
  ApiEndpoint,
  ApiEndpoint,
  ApiEndpoint,
];
const L1 = chainNumbered(1);
const SIGNAL = new AbortController().signal;

/** Calls as `first base URL` and path. */
let asked: string[];
let rpcs: ReturnType<typeof openChainRpcs>;

function clientOf(endpoints: readonly ApiEndpoint[]): JsonRpcClient {
  let current = endpoints;
  return {
    useEndpoints(next: readonly ApiEndpoint[]) {
      current = next;
    },
    async call<Result>({ path, parseResult }: JsonRpcCall<Result>): Promise<Result> {
      asked.push(`${current.map(({ baseUrl }) => baseUrl).join()}${path}`);
      return parseResult('0x1', '');
    },
  } as unknown as JsonRpcClient;
}

beforeEach(() => {
  asked = [];
  rpcs = openChainRpcs(new AsyncDisposableStack(), new Map([['C', [A, B]]]), {
    openEvmClient: () => clientOf([NODE]),
    openOther: (_, endpoints) => clientOf(endpoints),
    endpoints: () => [NODE],
  });
});

test('a chain of the configuration is asked at all of its endpoints, and another one at the node', async () => {
  await rpcs.api.getBlockNumber('C', SIGNAL);
  await rpcs.api.getBlockNumber(L1, SIGNAL);
  expect(asked).toEqual(['https://a.test,https://b.test', `https://node.test/ext/bc/${L1}/rpc`]);
  expect([rpcs.endpointsOf('C'), rpcs.endpointsOf(L1)]).toEqual([[A, B], [NODE]]);
});

test('the feed asks one endpoint', async () => {
  await rpcs.openSingle(new AsyncDisposableStack(), 'C', B).getBlockNumber('C', SIGNAL);
  await rpcs.openSingle(new AsyncDisposableStack(), L1, NODE).getBlockNumber(L1, SIGNAL);
  expect(asked).toEqual(['https://b.test', `https://node.test/ext/bc/${L1}/rpc`]);
});

test('a reload adds, replaces and removes endpoints', async () => {
  rpcs.update(
    new Map<EvmChainID, ApiEndpoint[]>([
      ['C', [B]],
      [L1, [A]],
    ]),
  );
  await rpcs.api.getBlockNumber('C', SIGNAL);
  await rpcs.api.getBlockNumber(L1, SIGNAL);
  rpcs.update(new Map());
  await rpcs.api.getBlockNumber('C', SIGNAL);
  expect(asked).toEqual(['https://b.test', 'https://a.test', 'https://node.test/ext/bc/C/rpc']);
});
