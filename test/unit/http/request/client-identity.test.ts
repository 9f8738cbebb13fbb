import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientIdOf, clientNetwork } from '../../../../src/http/request/client-identity.ts';

describe('clientNetwork', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:102:304', '1.2.3.4'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1.2.3.4:5678', '1.2.3.4'],
    ['[2001:db8::1]:5678', '2001:db8:0:0::/64'],
    ['[2001:db8::1]', '2001:db8:0:0::/64'],
    ['[::ffff:1.2.3.4]:5678', '1.2.3.4'],
    ['[[::1]]:1', '[[::1]]:1'],
    ['what: a proxy made up', 'what: a proxy made up'],
    ['what a proxy made up', 'what a proxy made up'],
  ])('%s is counted as %s', (ip, network) => {
    expect(clientNetwork(ip)).toBe(network);
  });

  test('depends on the first 64 bits alone, in any notation', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const eight = fc.tuple(group, group, group, group, group, group, group, group);
    fc.assert(
      fc.property(eight, ([a, b, c, d, ...host]) => {
        fc.pre([a, b, c, d].some((part) => part !== 0));
        const groups = [a, b, c, d, ...host];
        const long = groups.map((part) => part.toString(16).padStart(4, '0').toUpperCase()).join(':');
        const [, short = ''] = /\[(.*)\]/.exec(new URL(`http://[${long}]`).host) ?? [];
        const expected = `${[a, b, c, d].map((part) => part.toString(16)).join(':')}::/64`;
        expect([clientNetwork(long), clientNetwork(short)]).toEqual([expected, expected]);
      }),
    );
  });
});

test('a client is known by its key, or else by its address', () => {
  const apiKey = { name: 'relayer', sha256: new Uint8Array(), unitsPerMinute: 1, routes: [] };
  expect(clientIdOf(apiKey, '1.2.3.4')).toBe('key:relayer');
  expect(clientIdOf(undefined, '1.2.3.4')).toBe('address:1.2.3.4');
});
