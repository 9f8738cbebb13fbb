import fc from 'fast-check';
import { expect, test } from 'vitest';
import { configOf, fileWith, problemsOf } from './load/config-fixture.ts';

const file = (corsOrigins: unknown) => fileWith({ server: { corsOrigins } });
const problems = (...corsOrigins: unknown[]) => problemsOf(file(corsOrigins));
const rejected = (index: number) => expect.stringContaining(`server.corsOrigins[${index}]: must `);

test('origins in the form of browsers are accepted', () => {
  const origins = [
    'https://console.example',
    'http://localhost:3000',
    'http://127.0.0.1:8080',
    'https://[2001:db8::1]:8443',
    'https://xn--bcher-kva.example',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    'app://-',
  ];
  expect(configOf(file(origins)).server.corsOrigins).toEqual(origins);
});

test('other texts are rejected, and where an origin is meant, with it', () => {
  for (const [text, meant] of [
    ['https://console.example/', 'https://console.example'],
    ['https://Console.example', 'https://console.example'],
    ['https://console.example:443', 'https://console.example'],
    ['http://localhost:080', 'http://localhost'],
    ['https://user:word@console.example', 'https://console.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    [' https://console.example', 'https://console.example'],
  ] as const) {
    expect(problems('https://a.example', text)).toEqual([rejected(1)]);
    expect(problems(text).join()).toContain(`; perhaps ${meant} is meant`);
  }
  for (const text of ['', 'console.example', 'localhost:3000', 'null', 'file://', 'https://', '//a.example']) {
    expect(problems(text)).toEqual([rejected(0)]);
  }
  expect(problems('https://*.example')).toEqual([rejected(0)]);
});

test('* stands alone', () => {
  expect(problems('https://a.example', '*')).toEqual([rejected(1)]);
  expect(problems('*', '*')).toEqual([rejected(0), rejected(1)]);
});

test('exactly the origin of a web address is accepted', () => {
  const urls = fc
    .tuple(fc.constantFrom('http', 'https'), fc.ipV4(), fc.nat(0xffff), fc.constantFrom('', '/', '/a?b', '?b', '#c'))
    .map(([scheme, host, port, rest]) => `${scheme}://${host}:${port}${rest}`);
  fc.assert(
    fc.property(urls, (url) => {
      const { origin } = new URL(url);
      expect(problems(origin)).toEqual([]);
      if (url !== origin) expect(problems(url)).toEqual([expect.stringContaining(`; perhaps ${origin} is meant`)]);
    }),
    { numRuns: 50 },
  );
});
