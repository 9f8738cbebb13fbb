import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { answerBeforeBody } from '../../../../src/http/server/answer-before-body.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const MIB = 1024 * 1024;

/** The text of the answer is read at once. */
function start() {
  const clock = new FakeClock();
  const request = new PassThrough();
  const answer = answerBeforeBody('<413>', request as unknown as IncomingMessage, clock);
  let text = '';
  answer.on('data', (piece) => {
    text += String(piece);
  });
  return { clock, request, answer, text: () => text };
}

test('an answer before the end of a body is sent at once, and ends with the body', async () => {
  const { request, answer, text } = start();
  request.write('body');
  await settle();
  expect([text(), answer.readableEnded]).toEqual(['<413>', false]);
  request.end();
  await settle();
  expect([text(), answer.readableEnded]).toEqual(['<413>', true]);
});

test('it ends a second after the last byte', async () => {
  const { clock, request, answer } = start();
  for (let second = 0; second < 3; second += 1) {
    await clock.advance(999);
    request.write('x');
    await settle();
  }
  await clock.advance(999);
  expect(answer.readableEnded).toBe(false);
  await clock.advance(1);
  await settle();
  expect(answer.readableEnded).toBe(true);
});

test('it ends when 16 MiB were dropped', async () => {
  const { request, answer } = start();
  for (let count = 0; count < 16; count += 1) {
    request.write(Buffer.alloc(MIB));
    await settle();
  }
  expect(answer.readableEnded).toBe(false);
  request.write('x');
  await settle();
  expect(answer.readableEnded).toBe(true);
});
