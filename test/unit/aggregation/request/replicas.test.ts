import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import type { AggregationLimits } from '../../../../src/aggregation/aggregation-limits.ts';
import { createDistributedSingleFlight } from '../../../../src/store/redis/distributed-single-flight.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { verifySignedMessage } from '../../../../src/validators/verify-signed-message.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { modelBackend } from '../../bls/backends/model-backend.ts';
import { createStoreInMemory } from '../../store/redis/store-in-memory.ts';
import { createHarness, MESSAGE, NETWORK_ID, type RequestOptions, validatorSet } from '../aggregator-fixture.ts';
import { drain, SteppedClock } from '../collection/collection-fixture.ts';

/** A validator may take longer than a whole collection. */
const PATIENT = { peerTimeoutMs: 60_000 };

/** Aggregators that share their work, each with separate validators, to see which one asks. */
function createReplicas(limits: Partial<AggregationLimits> = {}) {
  const clock = new SteppedClock();
  const store = createStoreInMemory(clock);
  const logger = createLogLines().logger;
  const open = () => {
    const ports = { clock, logger, metrics: createMetrics(new Registry()), networkID: 1, networkName: 'test' };
    const onCommand = { call: (): void => undefined };
    const ask: typeof store.store.ask = (command) => {
      onCommand.call();
      return store.store.ask(command);
    };
    const distributedFlights = createDistributedSingleFlight({ ...ports, store: { ask } });
    return { ...createHarness(limits, { clock, distributedFlights }), onCommand };
  };
  return { ...store, clock, one: open(), other: open(), third: open() };
}

const EXPECTED = {
  networkID: NETWORK_ID,
  warpSet: createWarpSet(validatorSet(40n, 30n, 20n, 10n)),
  quorumNum: 67n,
};

const asked = ({ source }: ReturnType<typeof createHarness>) => source.calls.length;

describe('replicas', () => {
  test('collect once for requests at the same time, and for later ones', async () => {
    const { one, other } = createReplicas();
    const results = [one.start(), other.start()];
    const [first, second] = [await one.finish(results[0]!), await other.finish(results[1]!)];
    expect(second).toEqual(first);
    expect(verifySignedMessage(second.signedMessage, EXPECTED, modelBackend).kind).toBe('valid');
    expect([asked(one), asked(other)]).toEqual([2, 0]);
    expect(await other.finish(other.start())).toEqual(first);
    expect([one.leftovers(), other.leftovers()]).toEqual(Array(2).fill({ timers: 0, listeners: 0, requests: 0 }));
  });

  test('that wait for one whose collection fails collect themselves, and have a failure of their own', async () => {
    const { clock, one, other, third } = createReplicas();
    const all = [one, other, third];
    for (const harness of all) harness.silence(1, 2);
    const failures = await Promise.all(all.map((harness) => harness.failure()));
    expect(failures.map(({ code }) => code)).toEqual(Array(3).fill('insufficient_weight'));
    // None has more than the time of its request.
    expect(clock.monotonicMs()).toBeLessThanOrEqual(10_000);
    for (const harness of all) expect(asked(harness)).toBeGreaterThan(0);
  });

  test('that wait for one whose collection fails have the message if they can collect it', async () => {
    const { one, other } = createReplicas();
    one.silence(1, 2);
    const failed = one.failure();
    const result = other.start();
    expect((await failed).code).toBe('insufficient_weight');
    const { signedMessage } = await other.finish(result);
    expect(verifySignedMessage(signedMessage, EXPECTED, modelBackend).kind).toBe('valid');
  });

  test('share a result without the whole buffer for some seconds only', async () => {
    const { clock, one, other } = createReplicas();
    one.silence(3);
    const request = { quorumBuffer: 20n };
    const first = await one.finish(one.start(request));
    expect(first.signedWeight).toBe(80n);
    expect((await other.finish(other.start(request))).signedMessage).toEqual(first.signedMessage);
    await clock.advance(3_000);
    expect((await other.finish(other.start(request))).signedWeight).toBe(90n);
  });

  test.each([
    ['leaves', 4_000],
    ['has not ended after three quarters of the time', undefined],
  ])('that wait for one that %s have the rest of the time', async (_, leavesAtMs) => {
    const { clock, one, other } = createReplicas(PATIENT);
    for (const harness of [one, other]) harness.silence(1, 2);
    const leaver = new AbortController();
    const left = one.start({}, { signal: leaver.signal });
    left.catch(() => undefined);
    await drain();
    if (leavesAtMs !== undefined) clock.after(leavesAtMs, () => leaver.abort(new Error('gone')));
    const failure = other.failure();
    await clock.advance(leavesAtMs ?? 7_400);
    expect(asked(other)).toBe(0);
    expect((await failure).code).toBe('insufficient_weight');
    expect(asked(other)).toBeGreaterThan(0);
    expect(clock.monotonicMs()).toBe(10_000);
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow();
  });
});

/** The last byte of the message's payload. */
const endOf = (signed: Buffer): number => signed.indexOf(MESSAGE.bytes) + MESSAGE.bytes.length - 1;

test.each<[string, RequestOptions, (signed: Buffer) => Buffer]>([
  ['of too small a quorum', { quorumNum: 30n }, (signed) => signed],
  ['of another message with this signature', {}, (signed) => signed.fill(99, endOf(signed), endOf(signed) + 1)],
])('a result %s under the key of a request never comes out', async (_, of, tamper) => {
  const { entries, plant, planted, one, other } = createReplicas();
  await one.finish(one.start(of));
  const [key = ''] = entries.keys();
  const result = tamper(Buffer.from(planted(key)));
  // The key of the request, as it is known only then.
  const ofRequest = of.quorumNum === undefined ? key : key.replace(`|${of.quorumNum}|`, '|67|');
  entries.clear();
  other.onCommand.call = () => plant(ofRequest, result);
  const { signedMessage } = await other.finish(other.start());
  expect([...entries.keys()]).toEqual([ofRequest]);
  expect(Buffer.from(signedMessage).indexOf(MESSAGE.bytes)).toBe(0);
  expect(verifySignedMessage(signedMessage, EXPECTED, modelBackend).kind).toBe('valid');
});
