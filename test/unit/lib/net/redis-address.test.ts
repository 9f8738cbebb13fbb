import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { parseRedisUrl } from '../../../../src/lib/net/redis-address.ts';

const PLAIN = { port: 6379, isTls: false, username: undefined, password: undefined, database: 0 };

test.each([
  ['redis://redis.example', { ...PLAIN, host: 'redis.example' }],
  ['redis://10.0.0.1:7000/', { ...PLAIN, host: '10.0.0.1', port: 7_000 }],
  ['rediss://[2001:db8::1]:6380/15', { ...PLAIN, host: '2001:db8::1', port: 6_380, isTls: true, database: 15 }],
  ['redis://:word@a', { ...PLAIN, host: 'a', password: 'word' }],
  ['redis://me:p%40ss%3A%2F%25@a/1', { ...PLAIN, host: 'a', username: 'me', password: 'p@ss:/%', database: 1 }],
])('%s', (text, address) => {
  expect(parseRedisUrl(text)).toEqual(address);
});

test('any percent-encoded user and password is read', () => {
  const text = fc.string({ minLength: 1, unit: 'binary' }).filter((word) => word.isWellFormed());
  fc.assert(
    fc.property(text, text, (username, password) => {
      const url = `redis://${encodeURIComponent(username)}:${encodeURIComponent(password)}@a`;
      expect(parseRedisUrl(url)).toMatchObject({ username, password });
    }),
  );
});

test.each([
  ['', /^Redis URL: must be such as redis:/],
  ['redis.example:6379', /must be such as/],
  ['https://a:secret@redis.example', /must be such as/],
  ['redis://', /must be such as/],
  ['redis:///1', /must be such as/],
  ['redis://:secret@a:0', /must be such as/],
  ['redis://:secret@a:65536', /must be such as/],
  ['redis://:sec#ret@a', /must be such as/],
  ['redis://:secret/@a', /must be such as/],
  ['redis://:secret@a/secret', /must have the number of a database/],
  ['redis://:secret@a/-1', /must have the number of a database/],
  ['redis://:secret@a/0?ssl=secret', /must have the number of a database/],
  ['redis://:secret@a/0#secret', /must have the number of a database/],
  ['redis://me:12/secret@a', /must have the number of a database/],
  ['redis://:secret%@a', /must have user and password percent-encoded/],
  ['redis://secret@a', /must have a password for its user/],
])('%s is refused, by an error without its password', (text, message) => {
  expect(() => parseRedisUrl(text)).toThrow(ParseError);
  expect(() => parseRedisUrl(text)).toThrow(message);
  expect(() => parseRedisUrl(text)).not.toThrow(/secret/);
});
