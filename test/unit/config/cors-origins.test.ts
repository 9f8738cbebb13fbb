import fc from 'fast-check';
import { expect, test } from 'vitest';
import { configOf, fileWith, problemsOf } from './load/config-fixture.ts';

const file = (corsOrigins?: unknown) => fileWith({ server: { ...(corsOrigins !== undefined && { corsOrigins }) } });
const parse = (corsOrigins?: unknown) => configOf(file(corsOrigins)).server.corsOrigins;
const problems = (corsOrigins: unknown) => problemsOf(file(corsOrigins));
const MUST =
  'must be an origin such as https://console.example or http://localhost:3000: a scheme, a host and a port ' +
  "that is not the scheme's own, with nothing after it";

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
  expect(parse(origins)).toEqual(origins);
});

test.each([
  ['https://console.example/', 'https://console.example'],
  ['https://Console.example', 'https://console.example'],
  ['https://console.example:443', 'https://console.example'],
  ['http://localhost:080', 'http://localhost'],
  ['https://user:word@console.example', 'https://console.example'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  [' https://console.example', 'https://console.example'],
])('%j is rejected with the origin that is meant', (text, meant) => {
  expect(problems(['https://a.example', text])).toEqual([
    `server.corsOrigins[1]: ${MUST}, is ${JSON.stringify(text)}; perhaps ${meant} is meant`,
  ]);
});

test.each(['', 'console.example', 'localhost:3000', 'null', 'file://', 'https://', '//a.example', 'https://*.example'])(
  '%j is rejected',
  (text) => {
    expect(problems([text])).toEqual([`server.corsOrigins[0]: ${MUST}, is ${JSON.stringify(text)}`]);
  },
);

test('* stands alone', () => {
  const problem = 'must stand alone, as it means all origins, is "*"';
  expect(problems(['https://a.example', '*'])).toEqual([`server.corsOrigins[1]: ${problem}`]);
  expect(problems(['*', '*'])).toEqual([`server.corsOrigins[0]: ${problem}`, `server.corsOrigins[1]: ${problem}`]);
});

test('exactly the origin of a web address is accepted', () => {
  fc.assert(
    fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), (url) => {
      const { origin } = new URL(url);
      expect(parse([origin])).toEqual([origin]);
      const meant = expect.stringContaining(`; perhaps ${origin} is meant`);
      if (url !== origin) expect(problems([url])).toEqual([meant]);
    }),
  );
});
