import { expect, test } from 'vitest';
import { readBody } from '../../../../src/pchain/rpc/read-body.ts';

const SHORT = 65_536;
const MAX_BYTES = 4 * SHORT;

/** A body in chunks, which counts those that were read. */
function bodyOf(...lengths: readonly number[]) {
  let taken = 0;
  async function* read(): AsyncGenerator<Buffer> {
    for (const length of lengths) {
      taken += 1;
      yield Buffer.alloc(length, 'a');
    }
  }
  return { body: read(), taken: () => taken };
}

test('a short body is read without a permit', async () => {
  const acquire = (): never => {
    throw new Error('no permit is needed');
  };
  expect(await readBody(bodyOf(1, SHORT - 1).body, MAX_BYTES, acquire)).toHaveLength(SHORT);
});

test('a long body waits for its one permit, and holds it to the end', async () => {
  const granted = Promise.withResolvers<Disposable>();
  let [asked, released] = [0, 0];
  const { body, taken } = bodyOf(SHORT, 1, SHORT, SHORT);
  const reading = readBody(body, MAX_BYTES, () => {
    asked += 1;
    return granted.promise;
  });
  await expect.poll(() => asked).toBe(1);
  expect(taken()).toBe(2);
  granted.resolve({
    [Symbol.dispose]() {
      released += 1;
      expect(taken()).toBe(4);
    },
  });
  expect(await reading).toHaveLength(3 * SHORT + 1);
  expect([asked, released]).toEqual([1, 1]);
});

test('a body that is too long releases its permit, and so does one whose permit is refused', async () => {
  let released = 0;
  const permit = {
    [Symbol.dispose]() {
      released += 1;
    },
  };
  await expect(readBody(bodyOf(SHORT, MAX_BYTES).body, 2 * SHORT, () => permit)).rejects.toThrow(
    'more than 131072 bytes',
  );
  await expect(readBody(bodyOf(SHORT, 1, MAX_BYTES).body, MAX_BYTES, () => permit)).rejects.toThrow('more than 262144');
  expect(released).toBe(1);
  await expect(readBody(bodyOf(SHORT, 1).body, MAX_BYTES, () => Promise.reject(new Error('no time')))).rejects.toThrow(
    'no time',
  );
});
