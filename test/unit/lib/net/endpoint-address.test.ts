import { expect, test } from 'vitest';
import { EndpointAddress } from '../../../../src/lib/net/endpoint-address.ts';

const KEY = '0a1b2c3d4e5f6a7b8c9d';

test.each([
  { baseUrl: `https://a.test/v3/${KEY}` },
  { baseUrl: `https://a.test/v3/${KEY}/ext` },
  { baseUrl: `https://a.test/v3?token=${KEY}` },
  { baseUrl: 'https://a.test', queryParameters: { token: KEY } },
  { baseUrl: 'https://a.test', httpHeaders: { 'x-api-key': KEY } },
  { baseUrl: 'https://a.test', httpHeaders: { authorization: `Bearer ${KEY}` } },
])('the key of %j is removed from texts', (endpoint) => {
  const address = new EndpointAddress(endpoint);
  expect(address.redact(`the project ${KEY} has no more calls`)).toBe('the project … has no more calls');
});

test('short words of a path are kept', () => {
  const address = new EndpointAddress({ baseUrl: 'https://a.test/mainnet/ext' });
  expect(address.redact('mainnet is away; no such path: /mainnet/ext/bc')).toBe('mainnet is away; no such path: …/bc');
});
