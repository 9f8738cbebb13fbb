import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AggregatorError, type AggregatorErrorCode } from '../../../src/aggregation/aggregator-error.ts';
import type { AggregationRequest, AggregationResult } from '../../../src/aggregation/request/aggregation-request.ts';
import type { Caller } from '../../../src/aggregation/stages/calls.ts';
import { createFeedMetrics } from '../../../src/feed/feed-metrics.ts';
import { startMessageSigner } from '../../../src/feed/message-signer.ts';
import { type MessageStore, openMessageStore } from '../../../src/feed/message-store.ts';
import { createMetrics, METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { blocks, CHAIN, checkpoint, emitted, OTHER_CHAIN, SIGNED_RESULT } from './emitted.ts';

let clock: FakeClock;
let registry: Registry;
let store: MessageStore;
let signer: AsyncDisposable;
/** Number of blocks that were read. */
let height: number;
let requests: { readonly request: AggregationRequest; readonly options: Caller }[];
/** What the aggregator does with a request. */
let answer: (request: AggregationRequest, options: Caller) => Promise<AggregationResult>;

beforeEach(() => {
  clock = new FakeClock();
  registry = new Registry();
  store = openMessageStore({ directory: undefined, networkID: 1 });
  store.addChain(CHAIN, checkpoint(0));
  requests = [];
  height = 0;
  answer = async () => SIGNED_RESULT;
  signer = startMessageSigner({
    store,
    clock,
    logger: createLogLines().logger,
    metrics: createFeedMetrics(createMetrics(registry), () => ({
      chains: [],
      oldestUnsignedSeconds: 0,
      messages: 0,
    })),
    quorumOf: () => 80n,
    aggregator: {
      aggregate(request, options) {
        requests.push({ request, options });
        return answer(request, options);
      },
    },
  });
});

afterEach(async () => {
  await signer[Symbol.asyncDispose]();
  store[Symbol.dispose]();
});

function emit(...messages: Parameters<typeof emitted>[2][]): void {
  for (const changes of messages) {
    height += 1;
    const executedMs = clock.now();
    store.append(CHAIN, blocks(height, height, [emitted(height, 0, { executedMs, ...changes })]));
  }
}

function outcomes(): string[] {
  return store
    .at(Array.from({ length: height }, (_, index) => ({ chainID: CHAIN, blockNumber: index + 1, logIndex: 0 })))
    .map(({ outcome }) => outcome.status);
}

function refusal(code: AggregatorErrorCode) {
  return async (): Promise<AggregationResult> => {
    throw new AggregatorError(code, 'refused', { retryAfterMs: 0 });
  };
}

test('signs a new message at once, as a client of its own, and in the background', async () => {
  emit({});
  await clock.advance(0);
  expect(outcomes()).toEqual(['signed']);
  expect(requests).toMatchObject([
    { options: { client: 'feed', isBackground: true }, request: { quorumNum: 80n, followsTeleporter: true } },
  ]);
});

test('counts the seconds from the execution of a message to its signature', async () => {
  answer = refusal('overloaded');
  emit({});
  await clock.advance(500);
  answer = async () => SIGNED_RESULT;
  await clock.advance(2_000);
  const [sum] =
    (await registry.getSingleMetric(`${METRIC_PREFIX}feed_signing_duration_seconds`)?.get())?.values.slice(-2) ?? [];
  expect(sum?.value).toBe(1);
});

test('leaves the quorum of a Teleporter message to its destination', async () => {
  emit({ destinationChainID: OTHER_CHAIN });
  await clock.advance(0);
  expect(requests).toMatchObject([{ request: { quorumNum: undefined, followsTeleporter: true } }]);
});

test('stores why a message was not signed, and tries less and less often until it is', async () => {
  answer = refusal('insufficient_weight');
  emit({});
  await clock.advance(0);
  expect(store.at([emitted(1, 0)])[0]?.outcome).toMatchObject({ status: 'failed', code: 'insufficient_weight' });
  expect(store.progress()[0]?.signedThrough).toBe(1);
  const counts: number[] = [];
  for (const seconds of [6, 11, 21, 41]) {
    await clock.advance(1_000 * seconds);
    counts.push(requests.length);
  }
  expect(counts).toEqual([2, 3, 4, 5]);
  answer = async () => SIGNED_RESULT;
  await clock.advance(90_000);
  expect(outcomes()).toEqual(['signed']);
  await clock.advance(1e6);
  expect(requests).toHaveLength(6);
});

test('keeps a message pending while the service itself cannot sign', async () => {
  answer = refusal('overloaded');
  emit({});
  await clock.advance(500);
  expect(outcomes()).toEqual(['pending']);
  answer = async () => SIGNED_RESULT;
  await clock.advance(2_000);
  expect(outcomes()).toEqual(['signed']);
});

test('waits for connections after its start, and tries more often while there are none', async () => {
  answer = refusal('not_connected');
  emit({});
  await clock.advance(59_000);
  expect(outcomes()).toEqual(['pending']);
  await clock.advance(3_000);
  expect(outcomes()).toEqual(['failed']);
  await clock.advance(600_000);
  answer = async () => SIGNED_RESULT;
  await clock.advance(16_000);
  expect(outcomes()).toEqual(['signed']);
});

test('signs later messages while many are tried again in vain', async () => {
  answer = refusal('signing_refused');
  emit(...Array.from({ length: 40 }, () => ({})));
  await clock.advance(0);
  expect(new Set(outcomes())).toEqual(new Set(['failed']));
  const never = new Promise<AggregationResult>(() => undefined);
  answer = (_, { signal }) =>
    Promise.race([
      never,
      new Promise<never>((__, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
    ]);
  await clock.advance(20_000);
  expect(requests).toHaveLength(48);
  answer = async () => SIGNED_RESULT;
  emit({});
  await clock.advance(0);
  expect(outcomes().at(-1)).toBe('signed');
});

test('goes on after a bug that concerns one message', async () => {
  answer = () => Promise.reject(new TypeError('a bug'));
  emit({});
  await clock.advance(0);
  expect(store.at([emitted(1, 0)])[0]?.outcome).toMatchObject({ status: 'failed', code: 'internal_error' });
});
