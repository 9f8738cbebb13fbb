import { expect, test } from 'vitest';
import { ConfigError, parseConfig } from '../../../src/config/config.ts';

const URL_VARIABLE = 'SIGNATURE_AGGREGATOR_SHARED_STORE_URL';

function parse(settings: object, environment: Record<string, string> = {}) {
  return parseConfig({ network: 'fuji', pChainApi: [{ baseUrl: 'https://a.test' }], ...settings }, {}, environment);
}

test('nothing is shared where nothing is said, nor by a prefix alone', () => {
  expect(parse({}).sharedStore).toBeUndefined();
  expect(parse({ sharedStoreKeyPrefix: 'mine:' }).sharedStore).toBeUndefined();
});

test('the URL comes from the file, its parts from the environment, or all of it', () => {
  const sharedStoreUrl = 'rediss://:${PASSWORD}@redis.test/2';
  const { sharedStore } = parse({ sharedStoreUrl, sharedStoreKeyPrefix: 'mine:' }, { PASSWORD: 'secret' });
  expect(sharedStore).toEqual({
    address: { host: 'redis.test', port: 6379, isTls: true, username: undefined, password: 'secret', database: 2 },
    keyPrefix: 'mine:',
  });
  expect(parse({ sharedStoreUrl }, { PASSWORD: 'x', [URL_VARIABLE]: 'redis://other.test' }).sharedStore).toMatchObject({
    address: { host: 'other.test' },
    keyPrefix: 'warp-signature-aggregator:',
  });
});

test.each([
  [{ sharedStoreUrl: 'https://:secret@redis.test' }, /^sharedStoreUrl: Redis URL: must be such as redis:/],
  [{ sharedStoreUrl: '' }, /^sharedStoreUrl must not have fewer than 1 characters$/],
  [{ sharedStoreUrl: 6379 }, /^sharedStoreUrl must be string$/],
  [{ sharedStoreKeyPrefix: '' }, /^sharedStoreKeyPrefix must not have fewer than 1 characters$/],
  [{ sharedStoreKeyPrefix: 'x'.repeat(101) }, /^sharedStoreKeyPrefix must not have more than 100 characters$/],
])('%j is refused by its name', (settings, message) => {
  expect(() => parse(settings)).toThrow(ConfigError);
  expect(() => parse(settings)).toThrow(message);
  expect(() => parse(settings)).not.toThrow(/secret/);
});

test('a wrong URL of the environment is refused without its password', () => {
  expect(() => parse({}, { [URL_VARIABLE]: 'redis://me:secret@redis.test/secret' })).toThrow(
    /^sharedStoreUrl: Redis URL: must have the number of a database, or nothing, after the host and port$/,
  );
});
