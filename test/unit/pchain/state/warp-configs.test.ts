import { expect, test } from 'vitest';
import type { WarpUpgrade } from '../../../../src/pchain/codec/warp-config.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { createWarpConfigs } from '../../../../src/pchain/state/warp-configs.ts';
import { type BlockchainID, idFromBytes } from '../../../../src/warp/ids.ts';
import { FakeClock, START_UNIX_MS, settle } from '../../../support/fake-clock.ts';
import { hang } from '../../aggregation/api-failures.ts';

const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const SIGNAL = new AbortController().signal;
const upgrade = (seconds: number, quorumNum: bigint): WarpUpgrade => ({
  timestamp: BigInt(START_UNIX_MS / 1_000 + seconds),
  isEnabled: true,
  quorumNum,
  requirePrimaryNetworkSigners: false,
});

function createHarness() {
  const clock = new FakeClock();
  const state = {
    calls: 0,
    answer: async (_signal: AbortSignal): Promise<readonly WarpUpgrade[]> => [upgrade(-1, 67n), upgrade(60, 80n)],
  };
  const evm = {
    getWarpUpgrades(_: BlockchainID, signal: AbortSignal) {
      state.calls += 1;
      return state.answer(signal);
    },
  };
  const configs = createWarpConfigs(evm, clock);
  return { clock, state, configs, get: () => configs.get(CHAIN, SIGNAL) };
}

test('a configuration is read once for all, and an upgrade begins at its time', async () => {
  const { clock, state, configs, get } = createHarness();
  expect(configs.known(CHAIN)).toBeUndefined();
  const [first, second] = await Promise.all([get(), get()]);
  expect(first).toMatchObject({ kind: 'read', config: { quorumNum: 67n } });
  expect(second).toEqual(first);
  await clock.advance(60_000);
  expect(configs.known(CHAIN)).toMatchObject({ config: { quorumNum: 80n } });
  expect(state.calls).toBe(1);
  await clock.advance(4 * 60_000);
  expect(configs.known(CHAIN)).toBeUndefined();
  await get();
  expect(state.calls).toBe(2);
});

test.each([
  ['invalid_response', false, 60_000],
  ['rejected', false, 60_000],
  ['unavailable', true, 5_000],
] as const)('one that cannot be read is not asked for again at once: %s', async (kind, mayPass, keptMs) => {
  const { clock, state, get } = createHarness();
  state.answer = () => Promise.reject(new ApiError(kind, 'HTTP status 404'));
  for (let time = 0; time < 3; time += 1) {
    expect(await get()).toEqual({ kind: 'unreadable', reason: 'HTTP status 404', mayPass });
  }
  expect(state.calls).toBe(1);
  await clock.advance(keptMs);
  await get();
  expect(state.calls).toBe(2);
});

test('an RPC that hangs is waited for until the deadline', async () => {
  const { clock, state, get } = createHarness();
  state.answer = hang;
  const reading = get();
  await clock.advance(1_500);
  expect(await reading).toMatchObject({ kind: 'unreadable', mayPass: true });
});

test('a caller that leaves gets its reason, and nothing is kept', async () => {
  const { state, configs } = createHarness();
  state.answer = hang;
  const caller = new AbortController();
  const reading = configs.get(CHAIN, caller.signal);
  const gone = new Error('gone');
  caller.abort(gone);
  await expect(reading).rejects.toBe(gone);
  await settle();
  expect(configs.known(CHAIN)).toBeUndefined();
});
