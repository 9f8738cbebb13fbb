import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';

const BASE = { network: 'fuji', pChainApi: [{ baseUrl: 'https://api.example' }] };
const parse = (more: object, environment: Record<string, string> = {}) =>
  parseConfig({ ...BASE, ...more }, {}, environment);

describe('settings of the index of L1 validations', () => {
  test('by default it keeps nothing, looks back some hours, and spares a public API', () => {
    expect(parse({})).toMatchObject({
      storePath: undefined,
      l1IndexLookback: 10_000n,
      l1IndexBlocksPerSecond: 50,
      dataApi: undefined,
    });
    expect(parse({ network: 'local' }).l1IndexBlocksPerSecond).toBe(1_000);
  });

  test('all can be set', () => {
    const dataApi = { baseUrl: 'https://data.example', httpHeaders: { 'x-glacier-api-key': '${KEY}' } };
    const settings = { storePath: '/var/lib/a', l1IndexLookback: 0, l1IndexBlocksPerSecond: 7, dataApi };
    expect(parse(settings, { KEY: 'secret' })).toMatchObject({
      storePath: '/var/lib/a',
      l1IndexLookback: 0n,
      l1IndexBlocksPerSecond: 7,
      dataApi: { baseUrl: 'https://data.example', httpHeaders: { 'x-glacier-api-key': 'secret' } },
    });
    expect(parse(settings, { KEY: '', SIGNATURE_AGGREGATOR_STORE_PATH: '/elsewhere' }).storePath).toBe('/elsewhere');
  });

  test.each<[object, RegExp]>([
    [{ storePath: '' }, /^storePath /],
    [{ l1IndexLookback: -1 }, /^l1IndexLookback must be >= 0$/],
    [{ l1IndexBlocksPerSecond: 0 }, /^l1IndexBlocksPerSecond must be >= 1$/],
    [{ dataApi: {} }, /^dataApi /],
    [{ dataApi: { baseUrl: 'ftp://x' } }, /^dataApi\.baseUrl must be a URL/],
    [{ dataApi: { baseUrl: 'https://x', apiKey: 'y' } }, /^unknown setting apiKey in dataApi$/],
  ])('%j is refused', (settings, message) => {
    expect(() => parse(settings)).toThrow(message);
  });
});
