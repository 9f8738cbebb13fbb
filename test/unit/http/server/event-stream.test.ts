import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { expect, test } from 'vitest';
import { EventStream } from '../../../../src/http/server/event-stream.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const HEARTBEAT_MS = 10_000;

/** A stream over a socket with room as the test says. */
function open() {
  const clock = new FakeClock();
  const written: string[] = [];
  const state = { hasRoom: true };
  const raw = Object.assign(new EventEmitter(), {
    writeHead: () => raw,
    write: (part: string) => {
      written.push(part);
      return state.hasRoom;
    },
  });
  const reply = {
    raw,
    request: { raw: {}, server: { server: { measure: () => undefined } } },
    headers: () => ({ getHeaders: () => ({}) }),
  } as unknown as FastifyReply;
  const events: string[] = [];
  const stream = new EventStream(reply, clock, () => events.splice(0));
  return { clock, written, state, raw, events, stream };
}

test('a stream has heartbeats, but none before its client has read what came before', async () => {
  const { clock, written, state, raw, events, stream } = open();
  await clock.advance(HEARTBEAT_MS);
  expect(written).toEqual([':\n\n']);
  state.hasRoom = false;
  events.push('an event');
  stream.wake();
  await clock.advance(10 * HEARTBEAT_MS);
  expect(written).toEqual([':\n\n', 'an event']);
  state.hasRoom = true;
  raw.emit('drain');
  await clock.advance(HEARTBEAT_MS);
  expect(written).toEqual([':\n\n', 'an event', ':\n\n']);
  stream.stop();
  expect(clock.pendingTimers).toBe(0);
});
