import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findRefusalMessage } from '../../../src/upstream/refusal-message.ts';

test.each([
  ['{"message":"no block"}', 'no block'],
  ['{"message":["a is wrong","","b too",7]}', 'a is wrong; b too'],
  ['{"message":[],"error":"Bad Request"}', 'Bad Request'],
  ['{"message":"","error":"undecodable"}', 'undecodable'],
  ['{"message":7}', undefined],
  ['{"error":{"code":1}}', undefined],
  ['["message"]', undefined],
  ['null', undefined],
  ['<html>', undefined],
  ['', undefined],
])('%j says %j', (text, message) => {
  expect(findRefusalMessage(text)).toBe(message);
});

test('is cut where it is longer than any sentence', () => {
  expect(findRefusalMessage(JSON.stringify({ message: 'x'.repeat(100_000) }))).toHaveLength(2_000);
  expect(findRefusalMessage(JSON.stringify({ message: Array(10_000).fill('xyz') }))).toHaveLength(2_000);
});

test('takes whatever text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const message = findRefusalMessage(text);
      expect(message === undefined || (message.length > 0 && message.length <= 2_000)).toBe(true);
    }),
  );
});
