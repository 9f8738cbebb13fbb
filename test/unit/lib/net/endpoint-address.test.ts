import { describe, expect, it, test } from 'vitest';
import { EndpointAddress } from '../../../../src/lib/net/endpoint-address.ts';

const KEY = '0a1b2c3d4e5f6a7b8c9d';

test.each([
  { baseUrl: `https://a.test/v3/${KEY}` },
  { baseUrl: `https://a.test/v3/${KEY}/ext` },
  { baseUrl: `https://a.test/v3?token=${KEY}` },
  { baseUrl: 'https://a.test', queryParameters: { token: KEY } },
  { baseUrl: 'https://a.test', httpHeaders: { 'x-api-key': KEY } },
  { baseUrl: 'https://a.test', httpHeaders: { authorization: `Bearer ${KEY}` } },
  { baseUrl: `https://me:${KEY}@a.test` },
  { baseUrl: `https://${KEY}@a.test` },
])('the key of %j is removed from texts', (endpoint) => {
  const address = new EndpointAddress(endpoint);
  expect(address.redact(`the project ${KEY} has no more calls`)).toBe('the project … has no more calls');
});

test('short words of a path are kept', () => {
  const address = new EndpointAddress({ baseUrl: 'https://a.test/mainnet/ext' });
  expect(address.redact('mainnet is away; no such path: /mainnet/ext/bc')).toBe('mainnet is away; no such path: …/bc');
});

describe('user and password of a URL', () => {
  const sentBy = (baseUrl: string, httpHeaders = {}) =>
    new EndpointAddress({ baseUrl, httpHeaders }).headers['authorization'];
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

  it('are sent as Basic authentication, decoded, and belong to no origin', () => {
    expect(new EndpointAddress({ baseUrl: 'https://me:secret@a.test:1' }).origin).toBe('https://a.test:1');
    expect(sentBy('https://me:s%40cret@a.test')).toBe(basic('me:s@cret'));
    expect(sentBy('https://me@a.test')).toBe(basic('me:'));
    expect(sentBy('https://a.test')).toBeUndefined();
    // A percent sign alone.
    expect(sentBy('https://me:100%@a.test')).toBe(basic('me:100%'));
  });

  it('give way to a header', () => {
    expect(sentBy('https://me:secret@a.test', { Authorization: 'Bearer x' })).toBe('Bearer x');
  });

  it('are removed from texts in every form', () => {
    const address = new EndpointAddress({ baseUrl: 'https://someone:s%40cret@a.test' });
    const text = `${basic('someone:s@cret')}, s@cret, s%40cret, someone`;
    expect(address.redact(text)).toBe('…, …, …, …');
  });
});

test('the host is removed from texts for clients, unless it is a word', () => {
  const text = 'the node at node.a.test:9650 is down';
  expect(new EndpointAddress({ baseUrl: 'http://node.a.test:9650' }).redactHost(text)).toBe('the node at … is down');
  expect(new EndpointAddress({ baseUrl: 'http://node:9650' }).redactHost(text)).toBe(text);
});

test('a base URL that is the whole address needs no path', () => {
  expect(new EndpointAddress({ baseUrl: 'http://node.test:8545' }).path('')).toBe('/');
  expect(new EndpointAddress({ baseUrl: 'http://node.test:8545?key=a' }).path('')).toBe('/?key=a');
  expect(new EndpointAddress({ baseUrl: 'https://node.test/ext/bc/C/rpc' }).path('')).toBe('/ext/bc/C/rpc');
});
