import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConfigError, parseConfig } from '../../../src/config/config.ts';

function parse(corsOrigins?: unknown) {
  const file = { network: 'mainnet', pChainApi: [{ baseUrl: 'https://node.test' }] };
  return parseConfig({ ...file, ...(corsOrigins !== undefined && { corsOrigins }) }, {}, {}).corsOrigins;
}

test('pages of all origins may use the service where nothing is said', () => {
  expect(parse()).toEqual(['*']);
  expect(parse(['*'])).toEqual(['*']);
  expect(parse([])).toEqual([]);
});

test('origins are what browsers send', () => {
  const origins = [
    'https://console.example',
    'http://localhost:3000',
    'http://127.0.0.1:8080',
    'https://[2001:db8::1]:8443',
    'https://xn--bcher-kva.example',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    'app://-',
  ];
  expect(parse(origins)).toEqual(origins);
});

test.each([
  ['https://console.example/', 'https://console.example'],
  ['https://console.example/path', 'https://console.example'],
  ['https://console.example?', 'https://console.example'],
  ['https://Console.example', 'https://console.example'],
  ['HTTPS://console.example', 'https://console.example'],
  ['https://console.example:443', 'https://console.example'],
  ['http://localhost:080', 'http://localhost'],
  ['https://user:word@console.example', 'https://console.example'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  [' https://console.example', 'https://console.example'],
])('%j is refused, and what may be meant is said', (text, meant) => {
  expect(() => parse(['https://a.example', text])).toThrow(ConfigError);
  expect(() => parse(['https://a.example', text])).toThrow(
    `corsOrigins[1] must be an origin such as https://console.example or http://localhost:3000: a scheme, a host and a ` +
      `port that is not the scheme's own, with nothing after it; is ${JSON.stringify(text)}, perhaps for ${meant}`,
  );
});

test.each(['', 'console.example', 'localhost:3000', 'null', 'file://', 'https://', '//a.example', 'https://*.example'])(
  '%j is refused',
  (text) => {
    expect(() => parse([text])).toThrow(
      new RegExp(`^corsOrigins\\[0\\] must be an origin .*; is ${RegExp.escape(JSON.stringify(text))}$`),
    );
  },
);

test('* stands alone', () => {
  expect(() => parse(['https://a.example', '*'])).toThrow(
    'corsOrigins[1] is *, which is all origins, and stands alone',
  );
  expect(() => parse(['*', '*'])).toThrow('corsOrigins[0] is *');
});

test('a hundred are enough', () => {
  const origins = Array.from({ length: 101 }, (_, index) => `https://${index}.example`);
  expect(parse(origins.slice(1))).toHaveLength(100);
  expect(() => parse(origins)).toThrow('corsOrigins');
  expect(() => parse('*')).toThrow('corsOrigins');
  expect(() => parse([1])).toThrow('corsOrigins[0]');
});

test('of a web address exactly the origin is taken', () => {
  fc.assert(
    fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), (url) => {
      const { origin } = new URL(url);
      expect(parse([origin])).toEqual([origin]);
      if (url !== origin) expect(() => parse([url])).toThrow(`perhaps for ${origin}`);
    }),
  );
});
