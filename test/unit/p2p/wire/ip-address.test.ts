import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import {
  ipAddressBytes,
  ipAddressFromBytes,
  isDialable,
  isPublicAddress,
} from '../../../../src/p2p/wire/ip-address.ts';

describe('IP addresses', () => {
  it('keep their 16 bytes through text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        expect(ipAddressBytes(ipAddressFromBytes(bytes))).toEqual(bytes);
      }),
    );
  });

  it('are the same text in 4 bytes and in their IPv6-mapped 16', () => {
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        const mapped = ipAddressBytes(text);
        expect(ipAddressFromBytes(mapped)).toBe(text);
        expect(ipAddressFromBytes(mapped.subarray(12))).toBe(text);
      }),
    );
  });

  it('are read in every IPv6 spelling', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        expect(ipAddressFromBytes(ipAddressBytes(text))).toBeTypeOf('string');
      }),
    );
    expect(ipAddressFromBytes(ipAddressBytes('2001:db8::1'))).toBe('2001:db8:0:0:0:0:0:1');
    expect(ipAddressFromBytes(ipAddressBytes('::'))).toBe('0:0:0:0:0:0:0:0');
    expect(ipAddressFromBytes(ipAddressBytes('1::'))).toBe('1:0:0:0:0:0:0:0');
    expect(ipAddressFromBytes(ipAddressBytes('::ffff:10.1.2.3'))).toBe('10.1.2.3');
  });

  it.each(['', 'localhost', '1.2.3', '1.2.3.4.5', 'fe80::1%eth0', '::1::'])('%j is none', (text) => {
    expect(() => ipAddressBytes(text)).toThrow(ParseError);
  });

  it.each([0, 3, 5, 15, 17])('have 4 or 16 bytes, not %d', (length) => {
    expect(() => ipAddressFromBytes(new Uint8Array(length))).toThrow(ParseError);
  });
});

describe('isPublicAddress', () => {
  it.each(['8.8.8.8', '172.15.255.255', '172.32.0.0', '100.128.0.0', '2606:4700::1111', '::ffff:8.8.8.8'])(
    '%s is',
    (text) => {
      expect(isPublicAddress(text)).toBe(true);
    },
  );

  it.each([
    ['0.0.0.0'],
    ['10.0.0.1'],
    ['100.64.0.1'],
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['172.16.0.1'],
    ['172.31.255.255'],
    ['192.168.1.1'],
    ['224.0.0.1'],
    ['255.255.255.255'],
    ['::'],
    ['::1'],
    ['0:0:0:0:0:0:0:1'],
    ['fd00::1'],
    ['fe80::1'],
    ['fec0::1'],
    // An IPv4 address within IPv6, which a gateway translates: 10.0.0.1.
    ['::10.0.0.1'],
    ['64:ff9b::10.0.0.1'],
    ['64:ff9b:1::10.0.0.1'],
    ['2002:a00:1::1'],
    ['2001:0:a00:1::1'],
    ['::ffff:127.0.0.1'],
    ['localhost'],
    ['example.org'],
  ])('%s is not', (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});

describe('isDialable', () => {
  it.each(['1.2.3.4', '::1', '2001:db8::1', 'localhost', 'node-1.example.org'])('%s is, at a real port', (host) => {
    expect(isDialable({ host, port: 9651 })).toBe(true);
    for (const port of [0, -1, 65_536, 1.5, Number.NaN]) expect(isDialable({ host, port })).toBe(false);
  });

  it.each(['', ' ', 'a b', 'a\0', '-a', 'a-', 'a..b', '.', 'http://a', 'a:1', `${'a'.repeat(64)}.b`.repeat(4)])(
    '%j is not',
    (host) => {
      expect(isDialable({ host, port: 9651 })).toBe(false);
    },
  );
});
