import { expect, test } from 'vitest';
import type { Blockchain } from '../../../../src/pchain/rpc/node-api.ts';
import { createPrimaryChains } from '../../../../src/pchain/state/primary-chains.ts';
import {
  type BlockchainID,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../../src/warp/ids.ts';
import { FUJI } from '../../../../src/warp/networks.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const chain = (byte: number) => idFromBytes<BlockchainID>(new Uint8Array(32).fill(byte), 'chain');
const L1 = idFromBytes<SubnetID>(new Uint8Array(32).fill(9), 'subnet');
const { signal } = new AbortController();

function chainsOf(networkID: number, listed: () => readonly Blockchain[]) {
  let calls = 0;
  const getBlockchains = async () => {
    calls += 1;
    return listed();
  };
  const clock = new FakeClock();
  const chains = createPrimaryChains({ api: { getBlockchains }, networkID, clock });
  return { find: () => chains.find(signal), calls: () => calls, clock };
}

test('the chains of a public network are known without a call', async () => {
  const { find, calls } = chainsOf(5, () => []);
  expect(await find()).toEqual({ P: P_CHAIN_ID, X: FUJI.xChainID, C: FUJI.cChainID });
  expect(calls()).toBe(0);
});

test('those of another network are read once it lists them, and an L1 of the same name is none of them', async () => {
  const ofL1 = { blockchainID: chain(3), subnetID: L1, name: 'C-Chain' };
  let listed: Blockchain[] = [ofL1];
  const { find, calls, clock } = chainsOf(12_345, () => listed);
  expect(await find()).toEqual({ P: P_CHAIN_ID });
  // Any visitor may repeat it.
  expect(await find()).toEqual({ P: P_CHAIN_ID });
  expect(calls()).toBe(1);
  await clock.advance(1_000);
  const primary = (byte: number, name: string) => ({ blockchainID: chain(byte), subnetID: PRIMARY_NETWORK_ID, name });
  listed = [ofL1, primary(1, 'X-Chain'), primary(2, 'C-Chain')];
  expect(await find()).toEqual({ P: P_CHAIN_ID, X: chain(1), C: chain(2) });
  expect(await find()).toEqual({ P: P_CHAIN_ID, X: chain(1), C: chain(2) });
  expect(calls()).toBe(2);
});
