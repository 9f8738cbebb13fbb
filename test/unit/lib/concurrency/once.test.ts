import { expect, test } from 'vitest';
import { once } from '../../../../src/lib/concurrency/once.ts';

test('the value is created at the first call only', () => {
  let calls = 0;
  const get = once(() => {
    calls += 1;
    return { calls };
  });
  expect(calls).toBe(0);
  expect(get()).toBe(get());
  expect(calls).toBe(1);
});

test('an error is not kept', () => {
  const answers = [
    () => {
      throw new Error('not yet');
    },
    () => 'made',
  ];
  const get = once(() => answers.shift()?.());
  expect(get).toThrow('not yet');
  expect([get(), get()]).toEqual(['made', 'made']);
});

test('a rejection reaches all its callers and is not kept', async () => {
  const answers = [Promise.reject(new Error('not yet')), Promise.resolve('made')];
  const get = once(() => answers.shift() ?? Promise.reject(new Error('asked too often')));
  const both = [get(), get()];
  for (const each of both) await expect(each).rejects.toThrow('not yet');
  expect([await get(), await get()]).toEqual(['made', 'made']);
});
