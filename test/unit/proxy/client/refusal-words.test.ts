import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findRefusalWords } from '../../../../src/proxy/client/refusal-words.ts';

const asItIs = (text: string): string => text;
const messageOf = (text: string) => findRefusalWords(text, asItIs).message;

test.each([
  ['{"message":"no block"}', 'no block'],
  ['{"message":["a is wrong","","b too",7]}', ['a is wrong', 'b too']],
  ['{"message":["a is wrong"]}', ['a is wrong']],
  ['{"message":[],"error":"Bad Request"}', 'Bad Request'],
  ['{"message":[7],"error":"Bad Request"}', 'Bad Request'],
  ['{"message":"","error":"undecodable"}', 'undecodable'],
  ['{"message":7}', undefined],
  ['{"error":{"code":1}}', undefined],
  ['["message"]', undefined],
  ['null', undefined],
  ['<html>', undefined],
  ['', undefined],
])('%j says %j', (text, message) => {
  expect(findRefusalWords(text, asItIs)).toEqual({ message, rpcBody: undefined });
});

test.each([
  ['{"jsonrpc":"2.0","error":{"code":-32000,"message":"no such block","data":null},"id":1}', 'no such block'],
  ['[{"jsonrpc":"2.0","result":{},"id":1},{"jsonrpc":"2.0","error":{"code":1,"message":"no"},"id":2}]', 'no'],
  ['{"jsonrpc":"2.0","error":{"code":-32000},"id":18446744073709551616}', undefined],
])('%j is a JSON-RPC error, kept to the last digit', (text, message) => {
  expect(findRefusalWords(text, asItIs)).toEqual({ message, rpcBody: text });
});

test.each(['{"jsonrpc":"2.0","result":{},"id":1}', '{"jsonrpc":"2.0","error":"no","id":1}', '[]'])(
  '%j is none',
  (text) => {
    expect(findRefusalWords(text, asItIs).rpcBody).toBeUndefined();
  },
);

test('nothing of our keys is left, in words, in lists, and in JSON-RPC however it is escaped', () => {
  const redact = (text: string): string => text.replaceAll('k"y', '…');
  expect(findRefusalWords('{"message":"with k\\"y"}', redact).message).toBe('with …');
  expect(findRefusalWords('{"message":["a k\\"y","b"]}', redact).message).toEqual(['a …', 'b']);
  const text = '{"jsonrpc":"2.0", "id":1e400,"error":{"code":1,"message":"with \\u006b\\u0022y","k\\"y":"é\\n"}}';
  expect(findRefusalWords(text, redact)).toEqual({
    message: 'with …',
    rpcBody: '{"jsonrpc":"2.0", "id":1e400,"error":{"code":1,"message":"with …","…":"é\\n"}}',
  });
});

test('is cut where it is longer than any sentence', () => {
  expect(messageOf(JSON.stringify({ message: 'x'.repeat(100_000) }))).toHaveLength(2_000);
  const list = messageOf(JSON.stringify({ message: Array(10_000).fill('x'.repeat(30)) })) as string[];
  expect(list.join('')).toHaveLength(2_000);
  // 66 of 30 characters, and one of 20.
  expect(list).toHaveLength(67);
  expect(messageOf(JSON.stringify({ message: Array(10_000).fill('x') }))).toHaveLength(100);
});

test('takes whatever text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const message = messageOf(text);
      const length = message === undefined ? 1 : [message].flat().join('').length;
      expect(length).toBeGreaterThan(0);
      expect(length).toBeLessThanOrEqual(2_000);
    }),
  );
});
