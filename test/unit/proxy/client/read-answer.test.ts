import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { readAnswer } from '../../../../src/proxy/client/read-answer.ts';

const inPieces = (bytes: Buffer, length: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
      bytes.subarray(index * length, (index + 1) * length),
    ),
    { objectMode: false },
  );

test.each([
  [0, 1],
  [1, 1],
  [200_000, 7],
  [256 * 1024, 65_536],
])('a body of %i bytes in pieces of %i is one buffer', async (length, pieceLength) => {
  const sent = Buffer.alloc(length, '0123456789');
  const body = await readAnswer(inPieces(sent, pieceLength), 0);
  expect(Buffer.isBuffer(body) && body.equals(sent)).toBe(true);
});

test('a longer body is a stream of all its bytes', async () => {
  const sent = Buffer.alloc(256 * 1024 + 1, '0123456789');
  const body = await readAnswer(inPieces(sent, 1_000), sent.length);
  if (Buffer.isBuffer(body)) throw new Error('it is not a stream');
  expect((await buffer(body)).equals(sent)).toBe(true);
});

test('a body that breaks rejects with its error, before the bound and after it', async () => {
  const short = new PassThrough();
  const read = readAnswer(short, 0);
  short.write('{');
  short.destroy(new Error('broken'));
  await expect(read).rejects.toThrow('broken');

  const long = new PassThrough({ highWaterMark: 1_000_000 });
  const reading = readAnswer(long, 0);
  long.write(Buffer.alloc(300_000));
  const body = await reading;
  if (Buffer.isBuffer(body)) throw new Error('it is not a stream');
  const rest = buffer(body);
  long.destroy(new Error('broken later'));
  await expect(rest).rejects.toThrow('broken later');
});
