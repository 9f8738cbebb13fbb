import { expect, test } from 'vitest';
import { P_CHAIN_ID, parseId } from '../../../src/warp/ids.ts';
import { CHAIN_ALIASES, FUJI, MAINNET, PUBLIC_NETWORKS, publicNetworkNamed } from '../../../src/warp/networks.ts';

test('public networks are found by every name that paths may have', () => {
  const names = ['mainnet', 'fuji', 'testnet', 'local', 'Fuji', ''];
  expect(names.map(publicNetworkNamed)).toEqual([MAINNET, FUJI, FUJI, undefined, undefined, undefined]);
});

test('their IDs are well formed, and no two are the same', () => {
  const chains = PUBLIC_NETWORKS.flatMap(({ xChainID, cChainID }) => [xChainID, cChainID]);
  for (const id of chains) expect(parseId(id, 'chain')).toBe(id);
  expect(new Set(chains).size).toBe(4);
  expect(new Set(PUBLIC_NETWORKS.map(({ networkID }) => networkID)).size).toBe(2);
});

test('the chains of the primary network have their short names', () => {
  expect(CHAIN_ALIASES.size).toBe(5);
  expect(CHAIN_ALIASES.get(P_CHAIN_ID)).toBe('P');
  for (const { xChainID, cChainID } of PUBLIC_NETWORKS) {
    expect([CHAIN_ALIASES.get(xChainID), CHAIN_ALIASES.get(cChainID)]).toEqual(['X', 'C']);
  }
});

test('L1s began with Etna', () => {
  const times = PUBLIC_NETWORKS.map(({ l1StartTime }) => new Date(Number(l1StartTime) * 1_000).toISOString());
  expect(times).toEqual(['2024-12-16T17:00:00.000Z', '2024-11-25T16:00:00.000Z']);
});
