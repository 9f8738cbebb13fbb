import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { createEndpointStates } from '../../../src/pchain/rpc/endpoint-state.ts';
import { createJsonRpcClient, type JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../../src/telemetry/metrics.ts';
import { PRIMARY_NETWORK_ID, type TxID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LocalApi, type ReceivedRequest, type Reply } from './local-api.ts';

const SIGNAL = new AbortController().signal;
const HOUR_MS = 3_600_000;
const TX = 'k' as TxID;

type Replier = (request: ReceivedRequest) => Reply;

async function setUp(...repliers: readonly Replier[]) {
  const opened = new AsyncDisposableStack();
  const apis: LocalApi[] = [];
  for (const reply of repliers) apis.push(opened.use(await LocalApi.start(reply)));
  const clock = new FakeClock();
  const states = createEndpointStates(clock);
  const endpoints = apis.map(({ baseUrl }) => ({ baseUrl }));
  const open = (): JsonRpcClient =>
    opened.use(createJsonRpcClient({ endpoints, clock, random: () => 0.5, metrics: createUnreadMetrics(), states }));
  const client = open();
  const node = createNodeApi(client, client);
  return {
    clock,
    states,
    endpoints,
    client,
    node,
    other: () => {
      const another = open();
      return createNodeApi(another, another);
    },
    counts: () => apis.map(({ requests }) => requests.length),
    methods: () => apis.map(({ requests }) => requests.map(({ method }) => method.replace(/^\w+\./, ''))),
    setAt: (height: bigint) => node.getValidatorsAt(PRIMARY_NETWORK_ID, height, SIGNAL),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const height = (value: number): Reply => ({ result: { height: String(value) } });
const refused =
  (code: number, message: string): Replier =>
  () => ({ error: { code, message } });
const failure = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => expect.fail('has a result'),
    (error: unknown) => error as ApiError,
  );

describe('an error about the endpoint', () => {
  it.each([
    [-32601, 'x'],
    [-32005, 'x'],
    [-32097, 'x'],
    [429, 'x'],
    [-32000, 'request limit reached'],
    [-32000, 'platform.getHeight is not available'],
    [-32000, 'unsupported'],
    [-32000, 'a text that is not known'],
  ])('%i %s: the next one is asked at once', async (code, message) => {
    await using api = await setUp(refused(code, message), () => height(2));
    expect(await api.node.getHeight(SIGNAL)).toBe(2n);
    expect(api.counts()).toEqual([1, 1]);
  });

  it('fails as unavailable where there is no other', async () => {
    await using api = await setUp(refused(-32000, 'daily limit reached'));
    const failing = failure(api.node.validatedBy(TX as never, SIGNAL));
    while (api.counts()[0] !== 3) await api.clock.advance(1_000);
    expect(await failing).toMatchObject({
      code: 'unavailable',
      message: 'platform.validatedBy: refused: daily limit reached (code -32000)',
    });
  });

  it('an unknown text is the answer only where all endpoints refuse, the first one then', async () => {
    await using api = await setUp(refused(-32000, 'odd'), refused(-32000, 'strange'));
    expect(await failure(api.node.getTx(TX, SIGNAL))).toMatchObject({
      code: 'rejected',
      rejection: { code: -32000, message: 'odd' },
    });
    expect(api.counts()).toEqual([1, 1]);
  });

  it('has the sentence of its body, without host and key', async () => {
    await using api = await setUp(({ headers }) => ({
      status: 403,
      text: `invalid host specified: ${headers.host}\nx`,
    }));
    const { message, detail } = await failure(api.node.getHeight(SIGNAL));
    expect(message).toBe('platform.getHeight: HTTP status 403: invalid host specified: …');
    expect(detail).toContain('invalid host specified: 127.0.0.1');
  });
});

describe('a limit with Retry-After', () => {
  const LIMITED: Replier = () => ({ status: 429, text: 'slow down', headers: { 'retry-after': '30' } });

  it('fails at once with that advice, and no client calls the endpoint before', async () => {
    await using api = await setUp(LIMITED);
    const error = await failure(api.node.getHeight(SIGNAL));
    expect(error).toMatchObject({ code: 'unavailable', retryAfterMs: 30_000 });
    await api.clock.advance(28_000);
    const [again, other] = [api.node, api.other()].map((node) => failure(node.getProposedHeight(SIGNAL)));
    expect(await again).toMatchObject({
      retryAfterMs: 2_000,
      message: 'platform.getProposedHeight: it wants no calls for another 2 s (HTTP status 429: slow down)',
    });
    expect(await other).toMatchObject({ code: 'unavailable' });
    expect([api.counts(), api.clock.pendingTimers]).toEqual([[1], 0]);
    await api.clock.advance(2_000);
    await failure(api.node.getHeight(SIGNAL));
    expect(api.counts()).toEqual([2]);
  });

  it('uses the other endpoint meanwhile', async () => {
    await using api = await setUp(LIMITED, () => height(2));
    for (let calls = 0; calls < 20; calls += 1) await api.node.getHeight(SIGNAL);
    await api.clock.advance(29_000);
    await api.node.getHeight(SIGNAL);
    expect(api.counts()).toEqual([1, 21]);
  });

  it('is forgotten with the endpoints', async () => {
    await using api = await setUp(LIMITED);
    await failure(api.node.getHeight(SIGNAL));
    api.states.reset();
    api.client.useEndpoints(api.endpoints);
    await failure(api.node.getHeight(SIGNAL));
    expect(api.counts()).toEqual([2]);
  });
});

describe('a method that is refused', () => {
  const refusesTx: Replier = ({ method }) =>
    method === 'platform.getTx' ? { error: { code: -32601, message: 'no such method' } } : height(1);

  it('is not asked for an hour, while other methods are', async () => {
    await using api = await setUp(refusesTx);
    for (let calls = 0; calls < 2; calls += 1) {
      expect(await failure(api.node.getTx(TX, SIGNAL))).toMatchObject({
        code: 'method_refused',
        rejection: { code: -32601, message: 'no such method' },
      });
    }
    await api.node.getHeight(SIGNAL);
    expect(api.methods()).toEqual([['getTx', 'getHeight']]);
    await api.clock.advance(HOUR_MS);
    await failure(api.other().getTx(TX, SIGNAL));
    expect(api.counts()).toEqual([3]);
  });

  it('does not put the endpoint aside', async () => {
    await using api = await setUp(refusesTx, ({ method }) =>
      method === 'platform.getTx' ? { error: { code: -32000, message: "couldn't get tx: not found" } } : height(2),
    );
    expect((await failure(api.node.getTx(TX, SIGNAL))).code).toBe('rejected');
    expect(await api.node.getHeight(SIGNAL)).toBe(1n);
  });
});
