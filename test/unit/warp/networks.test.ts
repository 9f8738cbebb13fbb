import { expect, test } from 'vitest';
import { P_CHAIN_ID, parseId } from '../../../src/warp/ids.ts';
import { CHAIN_ALIASES, PUBLIC_NETWORKS } from '../../../src/warp/networks.ts';

test('IDs of public networks are valid and unique', () => {
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
