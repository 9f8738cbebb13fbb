import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { Exchange, type ExchangeRules } from '../../../../src/proxy/client/exchange.ts';

/** What undici does, byte by byte: each piece is a view of what was read from the connection. */
function start() {
  let [paused, resumed] = [0, 0];
  const controller = {
    abort: () => undefined,
    pause: () => {
      paused += 1;
    },
    resume: () => {
      resumed += 1;
    },
  } as never;
  const rules: ExchangeRules = {
    maxBytes: 10_000_000,
    findProblem: () => undefined,
    tooLong: () => new Error('too long'),
    acquireStream: () => undefined,
  };
  const exchange = new Exchange(rules, 'a client');
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, { 'content-type': 'application/json' });
  return {
    exchange,
    counts: () => ({ paused, resumed }),
    send(bytes: Buffer) {
      for (let at = 0; at < bytes.length; at += 1) exchange.onResponseData(controller, bytes.subarray(at, at + 1));
    },
  };
}

test('a body in one-byte pieces becomes one buffer', async () => {
  const { exchange, send } = start();
  const sent = Buffer.from('0123456789'.repeat(20_000));
  send(sent);
  exchange.onResponseEnd();
  const body = (await exchange.answer).body as Buffer;
  expect(body.equals(sent)).toBe(true);
  expect(body.buffer).not.toBe(sent.buffer);
  expect(body.buffer.byteLength).toBeLessThanOrEqual(2 * sent.length);
});

test('a streamed body in one-byte pieces waits for its reader in few of them, and no more is read meanwhile', async () => {
  const { exchange, counts, send } = start();
  const sent = Buffer.from('0123456789'.repeat(40_000));
  send(sent.subarray(0, 300_000));
  const stream = (await exchange.answer).body as Readable;
  // Once for the stream to begin, and again as much waits for its reader.
  expect(counts().paused).toBeGreaterThan(1);
  expect(counts().resumed).toBe(0);
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  await expect.poll(() => pieces.length).toBe(1);
  expect(counts().resumed).toBeGreaterThan(0);
  send(sent.subarray(300_000));
  exchange.onResponseEnd();
  await expect.poll(() => stream.readableEnded).toBe(true);
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
  expect(pieces.length).toBeLessThan(10);
});
