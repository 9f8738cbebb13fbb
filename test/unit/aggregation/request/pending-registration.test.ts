import { expect, test } from 'vitest';
import { createPChainMessage } from '../../../../src/aggregation/transactions/l1-justification.ts';
import { PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { encodeJustification, registrationOrigin } from '../../../../src/warp/justification.ts';
import { registration } from '../../pchain/state/test-chain.ts';
import { createHarness, NETWORK_ID, nodeOf, signers, validatorSet } from '../aggregator-fixture.ts';
import { ANSWER_MS } from '../collection/collection-fixture.ts';

const COULD_BE_REGISTERED = 14;
const HOUR_MS = 3_600_000;
/** Longer than a refusal is kept, and than the P-Chain's proposed height counts as fresh. */
const LATER_MS = 10 * 60_000;

/** A network whose validators may refuse to say that a registration of this life is over, and an index of P-Chain blocks. */
function create({ lifeMs = HOUR_MS, isRegistered = (): boolean | undefined => false } = {}) {
  const lookups: string[] = [];
  const index = {
    async hasOrigin(validationID: string) {
      lookups.push(validationID);
      return isRegistered();
    },
  };
  const harness = createHarness({}, { index });
  const expiry = Math.floor((harness.clock.now() + lifeMs) / 1_000);
  const origin = registrationOrigin(registration(expiry));
  const { validationID } = origin;
  const asked = {
    message: createPChainMessage(NETWORK_ID, { kind: 'L1ValidatorRegistration', validationID, registered: false }),
    justification: encodeJustification(origin.justification),
  };
  const refuse = (code: number, ...numbers: number[]): void => {
    for (const number of numbers) {
      const text = `validation "${validationID}" can be registered until 9999999999`;
      harness.source.add(nodeOf(number), () => ({ afterMs: ANSWER_MS, outcome: { kind: 'refused', code, text } }));
    }
  };
  const all = signers.map((_, i) => i + 1);
  return { ...harness, asked, expiry, validationID, lookups, refuse, all };
}

test('a registration that could reach the P-Chain is an error with its expiry, without repetitions', async () => {
  const { failure, refuse, all, asked, expiry, clock, source } = create();
  refuse(COULD_BE_REGISTERED, ...all);
  const startMs = clock.monotonicMs();
  const error = await failure(asked);
  const time = new Date(expiry * 1_000).toISOString().replace('.000Z', 'Z');
  expect(error).toMatchObject({ code: 'registration_pending', report: { registrableUntil: BigInt(expiry) } });
  expect(error.message).toContain(`until ${time} (Unix time ${expiry})`);
  expect(error.message).not.toContain('9999999999');
  expect(clock.monotonicMs() - startMs).toBe(ANSWER_MS);
  expect(error.retryAfterMs).toBe(expiry * 1_000 - clock.now());
  expect(new Set(source.calls.map(({ nodeID }) => nodeID)).size).toBe(source.calls.length);
});

test('validators are asked about it once in its life, though they change, and then they confirm its end', async () => {
  const { failure, start, finish, refuse, signs, all, asked, expiry, clock, source, api } = create();
  refuse(COULD_BE_REGISTERED, ...all);
  await failure(asked);
  const { length } = source.calls;
  await clock.advance(LATER_MS);
  api.sets.set(PRIMARY_NETWORK_ID, () => validatorSet(25n, 25n, 25n, 25n, 25n));
  api.proposed = 99n;
  const again = await failure(asked);
  expect(again).toMatchObject({ code: 'registration_pending', report: { pChainHeight: 99n } });
  expect(Math.abs((again.retryAfterMs ?? 0) - (expiry * 1_000 - clock.now()))).toBeLessThan(1_000);
  expect(source.calls).toHaveLength(length);
  await clock.advance(HOUR_MS - LATER_MS);
  for (const number of all) signs(number);
  expect(await finish(start(asked))).toMatchObject({ totalWeight: 125n });
});

test('one that the P-Chain has accepted since is asked about again', async () => {
  let isRegistered = false;
  const { failure, start, finish, refuse, signs, all, asked, validationID, lookups, clock } = create({
    isRegistered: () => isRegistered,
  });
  refuse(COULD_BE_REGISTERED, ...all);
  await failure(asked);
  expect(lookups).toEqual([]);
  await clock.advance(LATER_MS);
  isRegistered = true;
  for (const number of all) signs(number);
  expect(await finish(start(asked))).toMatchObject({ signedWeight: 75n });
  expect(lookups).toEqual([validationID]);
});

test('while the newest blocks cannot be read, it is asked about every five minutes', async () => {
  const { failure, refuse, all, asked, clock, source } = create({ isRegistered: () => undefined });
  refuse(COULD_BE_REGISTERED, ...all);
  await failure(asked);
  const { length } = source.calls;
  await clock.advance(5 * 60_000 - 2_000);
  await failure(asked);
  expect(source.calls).toHaveLength(length);
  await clock.advance(2_000);
  await failure(asked);
  expect(source.calls.length).toBeGreaterThan(length);
});

test('validators that could not lose the quorum alone decide nothing', async () => {
  const { start, finish, refuse, asked } = create();
  refuse(COULD_BE_REGISTERED, 1);
  expect(await finish(start(asked))).toMatchObject({ signedWeight: 75n });
});

test('a validator that refuses for another reason leaves it open', async () => {
  const { failure, refuse, asked } = create();
  refuse(COULD_BE_REGISTERED, 1);
  refuse(12, 2, 3, 4);
  expect(await failure(asked)).toMatchObject({ code: 'insufficient_weight' });
});

test('is kept for a day at most, as the P-Chain accepts no later expiry', async () => {
  const { failure, refuse, all, asked, source, clock } = create({ lifeMs: 30 * 24 * HOUR_MS });
  refuse(COULD_BE_REGISTERED, ...all);
  expect(await failure(asked)).toMatchObject({ code: 'registration_pending', retryAfterMs: 24 * HOUR_MS });
  const { length } = source.calls;
  await clock.advance(24 * HOUR_MS);
  await failure(asked);
  expect(source.calls.length).toBeGreaterThan(length);
});

test('after the expiry, validators whose last block is older may still sign soon', async () => {
  const { failure, refuse, all, asked } = create({ lifeMs: -1_000 });
  refuse(COULD_BE_REGISTERED, ...all);
  expect(await failure(asked)).toMatchObject({ code: 'insufficient_weight', retryAfterMs: 1_000 });
});

test('a registration that is not the one of the message does not name the time', async () => {
  const { failure, refuse, all, asked, expiry } = create();
  refuse(COULD_BE_REGISTERED, ...all);
  const other = registrationOrigin(registration(expiry + 60));
  const error = await failure({ ...asked, justification: encodeJustification(other.justification) });
  expect(error).toMatchObject({ code: 'insufficient_weight' });
});
