import { expect, test } from 'vitest';
import { once } from '../../../../src/lib/concurrency/once.ts';

test('the value is created at the first call only', () => {
  let calls = 0;
  const get = once(() => (calls += 1));
  expect([calls, get(), get()]).toEqual([0, 1, 1]);
});

test.each([
  [
    'error',
    () => {
      throw new Error('not yet');
    },
  ],
  ['rejection', () => Promise.reject(new Error('not yet'))],
])('an %s is not kept', async (_name, fail) => {
  const answers = [fail, () => 'made'];
  const get = once(() => answers.shift()?.());
  await expect(async () => get()).rejects.toThrow('not yet');
  expect([get(), get()]).toEqual(['made', 'made']);
});
