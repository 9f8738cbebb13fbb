import { expect, test } from 'vitest';
import { ApiError } from '../../../src/pchain/api-error.ts';
import { serializeError } from '../../../src/telemetry/logger.ts';

test('errors of our own classes are logged by their message, bugs with their stack', () => {
  expect(serializeError(new ApiError('unavailable', 'no connection', { cause: new Error('inside') }))).toEqual({
    type: 'ApiError',
    message: 'no connection',
  });
  const withDetail = new ApiError('unavailable', 'no connection', { detail: 'node.internal:9650: no connection' });
  expect(serializeError(withDetail)).toMatchObject({ detail: 'node.internal:9650: no connection' });
  class Wrapping extends Error {
    override readonly name = 'Wrapping';
  }
  expect(serializeError(new Wrapping('the API failed', { cause: withDetail }))).toEqual({
    type: 'Wrapping',
    message: 'the API failed',
    detail: 'node.internal:9650: no connection',
  });
  for (const bug of [new TypeError('not a function'), new Error('cannot be')]) {
    expect(serializeError(bug)).toMatchObject({ message: bug.message, stack: bug.stack });
  }
  expect(serializeError('text')).toBe('text');
});
