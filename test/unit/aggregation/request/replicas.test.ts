import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import type { ProgressEvent } from '../../../../src/aggregation/collection/progress.ts';
import type { AggregatorLimits } from '../../../../src/aggregation/request/aggregate.ts';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import { createDistributedSingleFlight } from '../../../../src/store/redis/distributed-single-flight.ts';
import { createSeal } from '../../../../src/store/redis/seal.ts';
import { createSharedSignatureStore } from '../../../../src/store/redis/shared-signature-store.ts';
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
function createReplicas(limits: Partial<AggregatorLimits> = {}, isSealed = true) {
  const clock = new SteppedClock();
  const store = createStoreInMemory(clock);
  const seal = createSeal(isSealed ? 'the secret of the replicas' : undefined, 'test:');
  const open = () => {
    const own = createMemorySignatureStore({ clock, maxSignatures: 1_000, maxPerSigner: 100 });
    const ports = { clock, logger: createLogLines().logger, metrics: createMetrics(new Registry()) };
    return createHarness(limits, {
      clock,
      store: createSharedSignatureStore(own, store.values, seal),
      distributedFlights: createDistributedSingleFlight({ values: store.values, seal, ...ports }),
    });
  };
  return { ...store, clock, one: open(), other: open() };
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

  test('share a failure for its seconds', async () => {
    const { clock, one, other } = createReplicas();
    for (const harness of [one, other]) harness.silence(1, 2);
    const failure = await one.failure();
    expect(failure.code).toBe('insufficient_weight');
    const again = await other.failure();
    expect([again.code, again.message, again.report]).toEqual([failure.code, failure.message, failure.report]);
    expect(asked(other)).toBe(0);
    await clock.advance(3_000);
    await other.failure();
    expect(asked(other)).toBeGreaterThan(0);
  });

  test('share a result without the whole buffer for some seconds only', async () => {
    const { clock, one, other } = createReplicas();
    one.silence(3);
    const request = { quorumBuffer: 20n };
    const first = await one.finish(one.start(request));
    expect(first.signedWeight).toBe(80n);
    expect((await other.finish(other.start(request))).signedMessage).toEqual(first.signedMessage);
    await clock.advance(3_000);
    expect((await other.finish(other.start(request))).signedWeight).toBe(100n);
  });

  test('tell each other how it goes', async () => {
    const { clock, one, other } = createReplicas();
    one.silence(1);
    const events: ProgressEvent[] = [];
    const result = one.start();
    await drain();
    const waiting = other.start({}, { onProgress: (event) => events.push(event) });
    await clock.advance(900);
    expect(asked(other)).toBe(0);
    expect(events[0]).toMatchObject({ kind: 'state', state: { signedWeight: 0n } });
    const signed = events.filter((event) => event.kind === 'outcome' && event.outcome.kind === 'signed');
    expect(signed.length).toBeGreaterThan(0);
    expect(events.some((event) => event.kind === 'asked')).toBe(true);
    await Promise.allSettled([one.finish(result), other.finish(waiting)]);
  });

  test.each([
    ['what is left of the time', 4_000, 10_000],
    ['at least half of the time', 8_000, 8_000 + 10_000 / 2],
  ])('that take over from another have %s', async (_, leavesAtMs, endsAtMs) => {
    const { clock, one, other } = createReplicas(PATIENT);
    for (const harness of [one, other]) harness.silence(1, 2);
    const leaver = new AbortController();
    const left = one.start({}, { signal: leaver.signal });
    await drain();
    clock.after(leavesAtMs, () => leaver.abort(new Error('gone')));
    expect((await other.failure()).code).toBe('insufficient_weight');
    await expect(left).rejects.toThrow('gone');
    expect(asked(other)).toBeGreaterThan(0);
    // A replica looks at another's work ten times a second.
    expect(Math.floor(clock.monotonicMs() / 100) * 100).toBe(endsAtMs);
  });
});

/** The last byte of the message's payload. */
const endOf = (signed: Buffer): number => signed.indexOf(MESSAGE.bytes) + MESSAGE.bytes.length - 1;

test.each<[string, RequestOptions, (signed: Buffer) => Buffer]>([
  ['of too small a quorum', { quorumNum: 30n }, (signed) => signed],
  ['of another message with this signature', {}, (signed) => signed.fill(99, endOf(signed), endOf(signed) + 1)],
])('a result %s under the key of a request never comes out', async (_, of, tamper) => {
  const { values, entries, plant, planted, one, other } = createReplicas({}, false);
  await one.finish(one.start(of));
  const result = tamper(Buffer.from(planted([...entries.keys()].find((key) => key.startsWith('work:'))!)));
  entries.clear();
  const { replace } = values;
  values.replace = (key, ...rest) => {
    if (rest[0] === undefined) plant(key, result);
    return replace(key, ...rest);
  };
  const { signedMessage } = await other.finish(other.start());
  expect(Buffer.from(signedMessage).indexOf(MESSAGE.bytes)).toBe(0);
  expect(verifySignedMessage(signedMessage, EXPECTED, modelBackend).kind).toBe('valid');
});
