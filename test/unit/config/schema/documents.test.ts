import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../../src/config/load/load-config.ts';
import { configOf } from '../load/config-fixture.ts';

const FOLDER = new URL('../../../../config/', import.meta.url);
const README = readFileSync(new URL('README.md', FOLDER), 'utf8');
const MAINNET = 'https://api.avax.network';
const FUJI = 'https://api.avax-test.network';
const DATA = 'https://data-api.avax.network';
const METRICS = 'https://metrics.avax.network';
const LOCAL = 'http://127.0.0.1:9650';

describe('presets', () => {
  test.each([
    ['mainnet', { mainnet: [MAINNET, []] }, { mainnet: DATA, evm: DATA, metrics: METRICS, node: MAINNET }],
    ['fuji', { fuji: [FUJI, ['testnet']] }, { fuji: DATA, evm: DATA, metrics: METRICS, node: FUJI }],
    [
      'public',
      { mainnet: [MAINNET, []], fuji: [FUJI, ['testnet']] },
      { mainnet: DATA, fuji: DATA, evm: DATA, metrics: METRICS, node: MAINNET },
    ],
    ['local', { local: [LOCAL, ['mainnet', 'fuji', 'testnet']] }, { node: LOCAL }],
  ] as const)('config/%s.json', (preset, networks, upstreams) => {
    const { config } = loadConfig({ config: new URL(`${preset}.json`, FOLDER).pathname }, {});
    const served = config.networks.map(({ name, pChainApi, aliases }) => [name, [pChainApi[0]?.baseUrl, aliases]]);
    expect(Object.fromEntries(served)).toEqual(networks);
    const { endpoints } = config.upstream;
    expect(Object.fromEntries(Object.entries(endpoints).map(([name, { baseUrl }]) => [name, baseUrl]))).toEqual(
      upstreams,
    );
    expect(config.networks.every(({ allowPrivateAddresses }) => allowPrivateAddresses === (preset === 'local'))).toBe(
      true,
    );
  });
});

describe('config/README.md', () => {
  test('has examples that are good', () => {
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
});
