import { expect, test } from 'vitest';
import {
  mayStatusPass,
  parseRetryAfterMs,
  retryAfterSeconds,
  sentenceOf,
  shortened,
} from '../../../../src/lib/net/http-failure.ts';

test('retries are useful after server errors, timeouts and rate limits', () => {
  const statuses = [200, 301, 400, 401, 403, 404, 408, 409, 429, 499, 500, 502, 503, 504, 599];
  expect(statuses.filter(mayStatusPass)).toEqual([408, 429, 500, 502, 503, 504, 599]);
});

test.each<[unknown, number | undefined]>([
  ['30', 30_000],
  ['0', 0],
  ['Thu, 01 Jan 1970 00:00:42 GMT', 32_000],
  ['Thu, 01 Jan 1970 00:00:02 GMT', 0],
  ['soon', undefined],
  ['-1x', undefined],
  ['', undefined],
  [undefined, undefined],
  [['1', '2'], undefined],
])('Retry-After %j is a wait of %s ms', (value, expected) => {
  expect(parseRetryAfterMs(value, 10_000)).toBe(expected);
});

test('Retry-After is in whole seconds: not too few, and at least one', () => {
  expect([0, 1, 1_000, 1_001, 59_999].map(retryAfterSeconds)).toEqual([1, 1, 1, 2, 60]);
});

test.each<[string, string | undefined]>([
  ['invalid host specified\n', 'invalid host specified'],
  ['\n  first\r\nsecond', 'first'],
  ['{"error":{"code":-32005,"message":"too many\\ncalls"}}', 'too many'],
  ['{"error":"no key"}', 'no key'],
  ['{"message":"slow down","error":"x"}', 'slow down'],
  ['{"detail":"gone"}', 'gone'],
  ['{"message":["a is wrong","b too"]}', 'a is wrong'],
  ['{"message":"","error":"no key"}', 'no key'],
  ['{"code":1}', '{"code":1}'],
  ['\u001b[31mred\u001b[0m', '[31mred [0m'],
  ['<html><title>403</title>', undefined],
  ['  ', undefined],
  ['', undefined],
])('the sentence of %j is %j', (body, sentence) => {
  expect(sentenceOf(body)).toBe(sentence);
});

test('a long sentence is cut off', () => {
  expect([shortened('x'.repeat(200)), shortened('x'.repeat(201))]).toEqual(['x'.repeat(200), `${'x'.repeat(200)}…`]);
});
