import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import {
  ipAddressBytes,
  ipAddressFromBytes,
  isDialable,
  isPublicAddress,
} from '../../../../src/p2p/wire/ip-address.ts';

it('addresses keep their 16 bytes through text, and IPv4 is the same text in 4 bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.ipV4(), (bytes, text) => {
      expect(ipAddressBytes(ipAddressFromBytes(bytes))).toEqual(bytes);
      const mapped = ipAddressBytes(text);
      expect(ipAddressFromBytes(mapped)).toBe(text);
      expect(ipAddressFromBytes(mapped.subarray(12))).toBe(text);
    }),
  );
});

it('addresses are read in every IPv6 spelling', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const written = ipAddressFromBytes(ipAddressBytes(text));
      expect(ipAddressBytes(written)).toEqual(ipAddressBytes(text));
    }),
  );
  for (const [text, written] of [
    ['2001:db8::1', '2001:db8:0:0:0:0:0:1'],
    ['::', '0:0:0:0:0:0:0:0'],
    ['1::', '1:0:0:0:0:0:0:0'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
  ] as const) {
    expect(ipAddressFromBytes(ipAddressBytes(text))).toBe(written);
  }
});

it('other texts and lengths are refused', () => {
  for (const text of ['', 'localhost', '1.2.3', '1.2.3.4.5', 'fe80::1%eth0', '::1::']) {
    expect(() => ipAddressBytes(text)).toThrow(ParseError);
  }
  for (const length of [0, 3, 5, 15, 17]) {
    expect(() => ipAddressFromBytes(new Uint8Array(length))).toThrow(ParseError);
  }
});

it('addresses of the public internet are public, and no other', () => {
  const open = '8.8.8.8 172.15.255.255 172.32.0.0 100.128.0.0 2606:4700::1111 ::ffff:8.8.8.8'.split(' ');
  const closed = [
    ...'0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1'.split(' '),
    ...'224.0.0.1 255.255.255.255 :: ::1 0:0:0:0:0:0:0:1 fd00::1 fe80::1 fec0::1 ::ffff:127.0.0.1'.split(' '),
    // 10.0.0.1 within IPv6, which a gateway translates.
    ...'::10.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::10.0.0.1 2002:a00:1::1 2001:0:a00:1::1'.split(' '),
    'localhost',
    'example.org',
  ];
  expect([...open, ...closed].filter(isPublicAddress)).toEqual(open);
});

it('IP addresses and host names can be dialled at a real port', () => {
  const hosts = ['1.2.3.4', '::1', '2001:db8::1', 'localhost', 'node-1.example.org'];
  const others = ['', ' ', 'a b', 'a\0', '-a', 'a-', 'a..b', '.', 'http://a', 'a:1', `${'a'.repeat(64)}.b`.repeat(4)];
  expect([...hosts, ...others].filter((host) => isDialable({ host, port: 9651 }))).toEqual(hosts);
  for (const port of [0, -1, 65_536, 1.5, Number.NaN]) expect(isDialable({ host: '1.2.3.4', port })).toBe(false);
});
