import { expect, test } from 'vitest';
import { type ClientErrorCode, SignatureAggregatorError } from '../../../src/client/client-error.ts';
import { repetitionDelay } from '../../../src/client/repetition.ts';
import { CODE_NAMES, ERROR_CODES } from '../../../src/http/errors/error-codes.ts';

const failed = (code: string, more: object = {}) =>
  new SignatureAggregatorError('failed', { code: code as ClientErrorCode, ...more });

test('a code of the service is repeated only if it may pass', () => {
  const repeated = CODE_NAMES.filter((code) => repetitionDelay(failed(code, { status: 503 }), 1, 1) !== undefined);
  expect(repeated).toEqual(CODE_NAMES.filter((code) => ERROR_CODES[code].retry === 'may_pass'));
});

test('answers of others are judged by their status', () => {
  const statuses = [400, 404, 408, 413, 429, 500, 502, 503];
  const repeated = (code: string) =>
    statuses.filter((status) => repetitionDelay(failed(code, { status }), 1, 1) !== undefined);
  expect([repeated('invalid_answer'), repeated('of_a_newer_service')]).toEqual(
    Array(2).fill([408, 429, 500, 502, 503]),
  );
  expect(repetitionDelay(failed('unreachable'), 1, 1)).toBe(500);
  expect(repetitionDelay(failed('cursor_expired'), 1, 1)).toBeUndefined();
});

test('the pause is that of the service, else it doubles, with jitter', () => {
  const overloaded = (retryAfterMs?: number) => failed('overloaded', { status: 503, retryAfterMs });
  expect(repetitionDelay(overloaded(2_000), 3, 0)).toBe(2_000);
  expect(repetitionDelay(overloaded(61_000), 1, 0)).toBeUndefined();
  expect([1, 2, 3, 9].map((attempt) => repetitionDelay(overloaded(), attempt, 1))).toEqual([500, 1_000, 2_000, 10_000]);
  expect(repetitionDelay(overloaded(), 2, 0.25)).toBe(250);
});
