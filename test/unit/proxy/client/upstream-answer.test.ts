import { expect, test } from 'vitest';
import { presentAnswer } from '../../../../src/proxy/client/upstream-answer.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

test.each([
  ['7', '7'],
  ['Thu, 01 Jan 2026 00:01:30 GMT', '90'],
  ['Wed, 31 Dec 2025 00:00:00 GMT', '1'],
  ['0', '1'],
  ['soon', undefined],
])('an upstream that may be asked again after %j is so after %s seconds', (sent, seconds) => {
  const answer = { status: 503, headers: { 'retry-after': sent }, body: Buffer.from('{}') };
  const { headers } = presentAnswer(answer, (text) => text, NOW_MS);
  expect(headers['retry-after']).toBe(seconds);
});
