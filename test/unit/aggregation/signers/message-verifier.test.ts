import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { createMessageVerifier } from '../../../../src/aggregation/signers/message-verifier.ts';
import type { SignedVerdict } from '../../../../src/bls/service/bls-jobs.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { MESSAGE, validatorSet } from '../aggregator-fixture.ts';
import { planOf } from '../stages/stage-fixture.ts';

const never = new AbortController().signal;

function createHarness() {
  const clock = new FakeClock();
  const warpSet = createWarpSet(validatorSet(10n));
  const plan = planOf({ pChainHeight: 7n, warpSet });
  const resolving = { calls: 0, isKnown: false, isMissing: false };
  const checks: PromiseWithResolvers<SignedVerdict>[] = [];
  const registry = new Registry();
  const metrics = createAggregatorMetrics(createMetrics(registry));
  const verifier = createMessageVerifier({
    clock,
    metrics,
    penalties: createPenalties(clock, metrics),
    l1Messages: { addresseeOf: async () => undefined },
    resolver: {
      known: () => (resolving.isKnown ? plan : undefined),
      async resolve() {
        resolving.calls += 1;
        if (!resolving.isKnown && resolving.isMissing) throw new AggregatorError('unknown_source_chain', 'unknown');
        return plan;
      },
    },
    bls: {
      verifySigned() {
        const check = Promise.withResolvers<SignedVerdict>();
        checks.push(check);
        return check.promise;
      },
    },
  });
  const signed = { unsignedMessage: MESSAGE, signature: { signers: [0], signature: new Uint8Array(96) } };
  const verify = (client: string, signal = never) => {
    const report = verifier.verify({ message: signed }, signal, client);
    report.catch(() => undefined);
    return report;
  };
  const measured = async (name: string) =>
    (await registry.getSingleMetric(`signature_aggregator_${name}`)?.get())?.values.map(({ labels, value }) => [
      labels,
      value,
    ]);
  return { clock, checks, resolving, verify, measured };
}

test('messages that one client has verified by the hundred do not stand before those of others', async () => {
  const { checks, verify, measured } = createHarness();
  for (let time = 0; time < 600; time += 1) void verify('flood');
  await settle();
  expect(checks).toHaveLength(8);
  expect(await measured('lookups_waiting')).toEqual([[{ kind: 'verify' }, 512]]);
  expect(await measured('admission_refusals_total')).toEqual([[{ reason: 'late_lookup' }, 80]]);
  const other = verify('other');
  await settle();
  expect(checks).toHaveLength(9);
  checks[8]?.resolve('valid');
  expect((await other).problem).toBeUndefined();
});

test('a client that waited too long is refused as overloaded, and one that left is removed from the queue', async () => {
  const { checks, verify, clock, measured } = createHarness();
  for (let time = 0; time < 8; time += 1) void verify('flood');
  const late = verify('flood');
  const leaver = new AbortController();
  const left = verify('flood', leaver.signal);
  await settle();
  expect(await measured('lookups_at_work')).toEqual([[{ kind: 'verify' }, 8]]);
  expect(await measured('lookups_waiting')).toEqual([[{ kind: 'verify' }, 2]]);
  const gone = new Error('gone');
  leaver.abort(gone);
  await expect(left).rejects.toBe(gone);
  await clock.advance(10_000);
  await expect(late).rejects.toMatchObject({ code: 'overloaded' });
  expect(await measured('lookups_waiting')).toEqual([[{ kind: 'verify' }, 0]]);
  expect(await measured('admission_refusals_total')).toEqual([[{ reason: 'late_lookup' }, 1]]);
  for (const check of checks) check.resolve('valid');
  await settle();
  expect(await Promise.race([verify('flood').then(() => 'done'), settle().then(() => 'begun')])).toBe('begun');
  expect(checks).toHaveLength(9);
});

test('messages of thousands of unknown chains cause few lookups, and those of known chains are verified', async () => {
  const { checks, resolving, verify } = createHarness();
  resolving.isMissing = true;
  const codes = new Map<string, number>();
  for (let count = 0; count < 2_000; count += 1) {
    const code = await verify('flood').then(
      () => 'verified',
      (error: AggregatorError) => error.code,
    );
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  expect([resolving.calls, ...codes]).toEqual([64, ['unknown_source_chain', 64], ['overloaded', 1_936]]);
  await expect(verify('other')).rejects.toMatchObject({ code: 'unknown_source_chain' });
  resolving.isKnown = true;
  const good = verify('flood');
  await settle();
  checks[0]?.resolve('valid');
  expect((await good).problem).toBeUndefined();
});
