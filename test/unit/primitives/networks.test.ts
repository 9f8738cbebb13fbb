import { describe, expect, it } from 'vitest';
import { P_CHAIN_ID, parseHexOrCb58Id } from '../../../src/primitives/ids.ts';
import { CHAIN_ALIASES, FUJI, MAINNET, PUBLIC_NETWORKS, publicNetworkNamed } from '../../../src/primitives/networks.ts';

describe('public networks', () => {
  it('are found by each of their names, and nothing else is', () => {
    expect(publicNetworkNamed('mainnet')).toBe(MAINNET);
    expect(publicNetworkNamed('fuji')).toBe(FUJI);
    expect(publicNetworkNamed('testnet')).toBe(FUJI);
    expect(['local', 'Fuji', '', 'constructor'].map(publicNetworkNamed)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('have well-formed chain IDs, no two the same', () => {
    const ids = PUBLIC_NETWORKS.flatMap(({ xChainID, cChainID }) => [xChainID, cChainID]);
    expect(ids.map((id) => parseHexOrCb58Id(id, 'chain ID'))).toEqual(ids);
    expect(new Set([...ids, P_CHAIN_ID]).size).toBe(5);
  });

  it('give each chain of theirs its alias', () => {
    expect([P_CHAIN_ID, FUJI.xChainID, MAINNET.cChainID].map((id) => CHAIN_ALIASES.get(id))).toEqual(['P', 'X', 'C']);
  });

  it('had their first L1s when the Etna upgrade came', () => {
    expect(PUBLIC_NETWORKS.map(({ l1StartTime }) => new Date(Number(l1StartTime) * 1_000).toISOString())).toEqual([
      '2024-12-16T17:00:00.000Z',
      '2024-11-25T16:00:00.000Z',
    ]);
  });
});
