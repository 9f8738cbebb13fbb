import { expect, test } from 'vitest';
import type { CurrentValidator } from '../../../../src/pchain/rpc/node-api.ts';
import { begunEpoch, createEpochs } from '../../../../src/pchain/state/epochs.ts';
import { createValidatorFunds } from '../../../../src/pchain/state/validator-funds.ts';
import { createWarpSet, type WarpSet } from '../../../../src/validators/warp-set.ts';
import {
  type BlockchainID,
  idFromBytes,
  nodeIDFromBytes,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type ValidationID,
} from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const SIGNAL = new AbortController().signal;
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(2), 'subnet');
const VALIDATION = idFromBytes<ValidationID>(new Uint8Array(32).fill(3), 'validation');
const node = (number: number) =>
  nodeIDFromBytes(Uint8Array.from({ length: 20 }, (_, i) => (i === 18 ? number >> 8 : i === 19 ? number : 0)));

test('the height of an epoch is read once a second; a chain without epochs has none', async () => {
  const clock = new FakeClock();
  let number = 3n;
  const api = { getCurrentEpoch: async () => ({ number, pChainHeight: 70n + number, startTime: 2_000_000_000n }) };
  const epochs = createEpochs({ api, networkID: 1, clock });
  const height = async () => begunEpoch(await epochs.get(CHAIN, SIGNAL))?.pChainHeight;
  expect(await height()).toBe(73n);
  number = 4n;
  await clock.advance(999);
  expect(await height()).toBe(73n);
  await clock.advance(1);
  expect(await height()).toBe(74n);
  number = 0n;
  await clock.advance(1_000);
  expect(await height()).toBeUndefined();
});

test('an epoch that may have ended is read ten times a second, and one that has not when it may end', async () => {
  const clock = new FakeClock();
  const startTime = BigInt(Math.floor(clock.now() / 1_000)) - 299n;
  let reads = 0;
  const getCurrentEpoch = async () => ({ number: BigInt((reads += 1)), pChainHeight: 70n, startTime });
  const epochs = createEpochs({ api: { getCurrentEpoch }, networkID: 5, clock });
  const number = async () => (await epochs.get(CHAIN, SIGNAL)).number;
  expect(await epochs.get(CHAIN, SIGNAL)).toMatchObject({ number: 1n, endTime: startTime + 300n });
  await clock.advance(1_000);
  expect(await number()).toBe(2n);
  await clock.advance(99);
  expect(await number()).toBe(2n);
  await clock.advance(1);
  expect(await number()).toBe(3n);
});

const validator = (byte: number, balance: bigint | undefined): CurrentValidator => ({
  nodeID: node(byte),
  weight: 1n,
  balance,
  validationID: balance === undefined ? undefined : VALIDATION,
});

function start(price: bigint, ...balances: (bigint | undefined)[]) {
  const clock = new FakeClock();
  const state = { calls: 0, balances };
  const api = {
    async getCurrentValidators() {
      state.calls += 1;
      return state.balances.map((balance, index) => validator(index + 1, balance));
    },
    getValidatorFeePrice: async () => price,
  };
  const funds = createValidatorFunds(api, clock);
  return {
    clock,
    state,
    funds,
    soonInactive: async (subnet = SUBNET, warpSet = setOf(1)) => [
      ...(await funds.soonInactive(subnet, warpSet, SIGNAL)),
    ],
  };
}

const setOf = (...bytes: number[]): WarpSet =>
  createWarpSet(bytes.map((byte) => ({ nodeID: node(byte), publicKey: new Uint8Array(48).fill(byte), weight: 1n })));

test('validators that will soon be inactive are those whose balance lasts less than half a minute at the present fee', async () => {
  const { soonInactive } = start(512n, 512n * 29n, 512n * 30n, 512n * 31n, 0n, undefined, 10n ** 12n);
  expect(await soonInactive()).toEqual([node(1), node(4)]);
});

test.each([0n, 1n])(
  'validators with less than 2,048 nAVAX will soon be inactive, however low the fee is (%s a second)',
  async (price) => {
    const { soonInactive } = start(price, 2_047n, 2_048n, 10n ** 9n);
    expect(await soonInactive()).toEqual([node(1)]);
  },
);

test('validators that will soon be inactive include validators that were registered after the last read', async () => {
  const { state, funds, soonInactive } = start(1n, 10n ** 9n);
  const before = setOf(1);
  const after = setOf(1, 2);
  expect(await soonInactive(SUBNET, before)).toEqual([]);
  state.balances = [10n ** 9n, 1n];
  expect(funds.knownSoonInactive(SUBNET, before)).toEqual(new Set());
  expect(funds.knownSoonInactive(SUBNET, after)).toBeUndefined();
  expect(await soonInactive(SUBNET, after)).toEqual([node(2)]);
  expect(funds.knownSoonInactive(SUBNET, after)).toEqual(new Set([node(2)]));
  expect(state.calls).toBe(2);
});

test('a set with removed validators is read once', async () => {
  const { state, soonInactive } = start(1n, 1n);
  const old = setOf(1, 9);
  for (let i = 0; i < 3; i += 1) expect(await soonInactive(SUBNET, old)).toEqual([node(1)]);
  expect(state.calls).toBe(2);
});

test('balances are extrapolated between reads, and changes by transactions are seen at the next read', async () => {
  const { clock, state, soonInactive } = start(1n, 2_049n, 10n ** 9n);
  expect(await soonInactive()).toEqual([]);
  await clock.advance(1_000);
  expect(await soonInactive()).toEqual([]);
  await clock.advance(1);
  expect(await soonInactive()).toEqual([node(1)]);
  state.balances = [10n ** 9n, 2_047n];
  await clock.advance(998);
  expect([await soonInactive(), state.calls]).toEqual([[node(1)], 1]);
  await clock.advance(1);
  expect([await soonInactive(), state.calls]).toEqual([[node(2)], 2]);
});

test.each([
  [1_000, 5_000],
  [7_000, 30_000],
])('balances of a subnet with %i validators are read every %i ms', async (count, ageMs) => {
  const { clock, state, soonInactive } = start(1n, ...Array<bigint>(count).fill(10n ** 9n));
  const calls: number[] = [];
  for (const pauseMs of [0, ageMs - 1, 1]) {
    await clock.advance(pauseMs);
    await soonInactive();
    calls.push(state.calls);
  }
  expect(calls).toEqual([1, 1, 2]);
});

test('L1 validators have balances, also inactive ones', async () => {
  const { state, funds } = start(1n, 40n, 0n, undefined);
  const getOf = async (subnet = SUBNET) => [...(await funds.fundsOf(subnet, SIGNAL))];
  const of = (byte: number, balance: bigint) => [node(byte), { validationID: VALIDATION, weight: 1n, balance }];
  expect(await getOf()).toEqual([of(1, 40n), of(2, 0n)]);
  expect(await getOf(PRIMARY_NETWORK_ID)).toEqual([]);
  await funds.soonInactive(SUBNET, setOf(1), SIGNAL);
  expect(state.calls).toBe(1);
});

test('no validator will soon be inactive in the primary network, without a call', async () => {
  const { state, soonInactive } = start(1n, 1n);
  expect(await soonInactive(PRIMARY_NETWORK_ID)).toEqual([]);
  expect(state.calls).toBe(0);
});
