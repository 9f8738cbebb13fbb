import { expect, test } from 'vitest';
import { networkLimits } from '../../../src/network/network-limits.ts';

const limitsOf = (name: string, ...baseUrls: string[]) =>
  networkLimits({ name, pChainApi: baseUrls.map((baseUrl) => ({ baseUrl })) });

test('a public network is dialled slower', () => {
  expect(limitsOf('fuji', 'https://a.test')).toMatchObject({ dialsPerSecond: 100, indexLookback: 10_000n });
  expect(limitsOf('own', 'https://a.test')).toMatchObject({ dialsPerSecond: 1_000, maxBlocksPerSecond: 1_000 });
});

test('blocks of a public network are read slower from a public API', () => {
  const rateOf = (baseUrl: string) => limitsOf('fuji', 'http://127.0.0.1', baseUrl).maxBlocksPerSecond;
  const far = ['https://api.avax.network', 'http://172.32.0.1:9650', 'http://[2001:db8::1]:9650'].map(rateOf);
  const near = ['http://localhost:9650', 'http://10.0.0.1:9650', 'http://172.31.0.1', 'http://[fd00::1]:1'].map(rateOf);
  expect([far, near]).toEqual([Array(3).fill(50), Array(4).fill(1_000)]);
});
