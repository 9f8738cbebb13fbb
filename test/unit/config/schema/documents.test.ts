import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../../src/config/load/load-config.ts';
import { configOf } from '../load/config-fixture.ts';

const FOLDER = new URL('../../../../config/', import.meta.url);
const README = readFileSync(new URL('README.md', FOLDER), 'utf8');

test.each([
  ['mainnet', ['mainnet']],
  ['fuji', ['fuji', 'testnet']],
  ['public', ['mainnet', 'fuji', 'testnet']],
  ['local', ['local', 'mainnet', 'fuji', 'testnet']],
])('config/%s.json serves the networks %j', (preset, names) => {
  const { config } = loadConfig({ config: new URL(`${preset}.json`, FOLDER).pathname }, {});
  expect(config.networks.flatMap(({ name, aliases }) => [name, ...aliases])).toEqual(names);
  expect(new Set(config.networks.map((network) => network.allowPrivateAddresses))).toEqual(
    new Set([preset === 'local']),
  );
  expect(config.upstream.endpoints.node).toBeDefined();
});

test.each(['mainnet', 'fuji', 'public'])(
  'config/%s.json has two P-Chain APIs, and asks the second for nothing else',
  (preset) => {
    const { config } = loadConfig({ config: new URL(`${preset}.json`, FOLDER).pathname }, {});
    for (const { pChainApi, infoApi } of config.networks) {
      expect(pChainApi).toHaveLength(2);
      expect(infoApi).toEqual([pChainApi[0]]);
    }
  },
);

test('config/README.md has examples that are good', () => {
  const [whole = '', store = '', upstream = ''] = [...README.matchAll(/```json\n(.*?)```/gs)].map(
    ([, text = '']) => text,
  );
  const environment = {
    P_CHAIN_API_KEY: 'key',
    DATA_API_KEY: 'key',
    REDIS_PASSWORD: 'key',
    SHARED_SECRET: 'sixteen letters!',
  };
  const file = { ...JSON.parse(whole), ...JSON.parse(store), ...JSON.parse(upstream) } as object;
  const config = configOf(file, {}, environment);
  expect(config.networks[0]?.pChainApi).toHaveLength(2);
  expect(config.store.shared?.servers).toMatchObject({ kind: 'cluster', isTls: true });
  expect(Object.keys(config.upstream.endpoints)).toEqual(['mainnet', 'fuji', 'evm', 'metrics', 'node']);
});
