import { expect, test } from 'vitest';
import { presentAnswer } from '../../../../src/proxy/client/upstream-answer.ts';

test.each([
  [7_000, '7'],
  [90_000, '90'],
  [0, '1'],
  [undefined, undefined],
])('an upstream that may be asked again after %s ms is so after %s seconds', (retryAfterMs, seconds) => {
  const answer = { status: 503, headers: {}, retryAfterMs, body: Buffer.from('{}') };
  const { headers } = presentAnswer(answer, (text) => text);
  expect(headers['retry-after']).toBe(seconds);
});
