import { expect, test } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { readBody, readErrorBody } from '../../../../src/pchain/rpc/read-body.ts';

const CHUNK = Buffer.alloc(40_000, 'x');

/** A body without an end, and what became of it. */
function endless() {
  const state = { chunks: 0, isClosed: false };
  async function* body() {
    try {
      for (;;) {
        state.chunks += 1;
        if (state.chunks > 100) throw new Error('read on and on');
        yield CHUNK;
      }
    } finally {
      state.isClosed = true;
    }
  }
  return { state, body: body() };
}

test('of the body of an error the beginning is read, and the rest is left', async () => {
  const { state, body } = endless();
  expect(await readErrorBody(body)).toBe('x'.repeat(65_536));
  expect(state).toEqual({ chunks: 2, isClosed: true });
});

test('a body that is too long is left at the first byte too many', async () => {
  const { state, body } = endless();
  await expect(readBody(body, 2 * CHUNK.length)).rejects.toThrow(ParseError);
  expect(state).toEqual({ chunks: 3, isClosed: true });
});
