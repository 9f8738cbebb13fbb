import { beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../../../src/lib/concurrency/event-loop-scheduler.ts';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { PacedInbox } from '../../../../src/p2p/connection/paced-inbox.ts';
import { encodeFrame } from '../../../../src/p2p/wire/frames.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const MAX_MESSAGES_PER_YIELD = 32;

/** Monotonic time, which handling a message advances. */
let nowMs: number;
let handled: number[];
let source: string[];
let costMs: number;
let onHandle: () => void;
let broken: ParseError[];
let inbox: PacedInbox;
beforeEach(() => {
  nowMs = 0;
  handled = [];
  source = [];
  costMs = 0;
  onHandle = () => undefined;
  broken = [];
  const fake = new FakeClock();
  const clock: Clock = {
    now: () => fake.now(),
    monotonicMs: () => nowMs,
    after: (delayMs, callback) => fake.after(delayMs, callback),
    afterTurn: (callback) => fake.afterTurn(callback),
  };
  inbox = new PacedInbox({
    clock,
    scheduler: new EventLoopScheduler(clock, MAX_MESSAGES_PER_YIELD),
    key: 'peer',
    handle: ([first = -1]) => {
      handled.push(first);
      nowMs += costMs;
      onHandle();
    },
    onBroken: (error) => void broken.push(error),
    source: { pause: () => void source.push('pause'), resume: () => void source.push('resume') },
  });
});

const frames = (first: number, count: number): Uint8Array =>
  concatBytes(...Array.from({ length: count }, (_, index) => encodeFrame(Uint8Array.of(first + index))));
/** Header of a frame above the limit. */
const NO_FRAME = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('PacedInbox', () => {
  it('delivers payloads in order for any chunks', () => {
    const bytes = frames(0, 5);
    for (const byte of bytes) inbox.push(Uint8Array.of(byte));
    inbox.push(frames(5, 3));
    expect(handled).toEqual(upTo(8));
    expect(source).toEqual([]);
  });

  it('pauses the source after the share of time, and continues with each tick', () => {
    costMs = 10;
    inbox.push(frames(0, 20));
    // Five use 50 ms, which does not exceed the share.
    expect(handled).toEqual(upTo(6));
    expect(source).toEqual(['pause']);
    inbox.tick();
    expect(handled).toEqual(upTo(11));
    inbox.push(frames(20, 2));
    expect(handled).toEqual(upTo(11));
    inbox.tick();
    inbox.tick();
    inbox.tick();
    expect(handled).toEqual(upTo(22));
    expect(source.at(-1)).toBe('resume');
  });

  it('a long message uses the share of several ticks', () => {
    costMs = 175;
    inbox.push(frames(0, 2));
    expect(handled).toEqual([0]);
    inbox.tick();
    inbox.tick();
    expect(handled).toEqual([0]);
    inbox.tick();
    expect(handled).toEqual([0, 1]);
    expect(source).toEqual(['pause', 'resume', 'pause']);
  });

  it('a pause of this process blocks a peer for less than a second', () => {
    costMs = 3_000;
    inbox.push(frames(0, 1));
    costMs = 0;
    inbox.push(frames(1, 1));
    expect(handled).toEqual([0]);
    for (const _ of upTo(3)) inbox.tick();
    expect(handled).toEqual([0, 1]);
    expect(source.at(-1)).toBe('resume');
  });

  it('drops waiting payloads when it is cleared by a handler', () => {
    onHandle = () => inbox.clear();
    inbox.push(frames(0, 3));
    expect(handled).toEqual([0]);
  });

  it('reports bytes that are not frames after the earlier payloads, and reads no further', () => {
    inbox.push(concatBytes(frames(0, 2), NO_FRAME, frames(2, 1)));
    expect(handled).toEqual([0, 1]);
    expect(broken).toEqual([expect.any(ParseError)]);
  });

  it('copies waiting bytes, whose memory the source may reuse', () => {
    costMs = 60;
    const chunk = frames(0, 2);
    inbox.push(chunk);
    expect(handled).toEqual([0]);
    chunk.fill(9);
    inbox.tick();
    expect(handled).toEqual([0, 1]);
  });
});

describe('many inboxes', () => {
  function createInboxes(count: number) {
    const queued: (() => void)[] = [];
    const afterTurn = (callback: () => void) => void queued.push(callback);
    const scheduler = new EventLoopScheduler({ afterTurn }, MAX_MESSAGES_PER_YIELD);
    const received: string[] = [];
    const sources: string[] = [];
    const inboxes = Array.from(
      { length: count },
      (_, index) =>
        new PacedInbox({
          clock: new FakeClock(),
          scheduler,
          key: `${index}`,
          handle: ([first = -1]) => void received.push(`${index}:${first}`),
          onBroken: () => void received.push(`${index} broken`),
          source: {
            pause: () => void sources.push(`pause ${index}`),
            resume: () => void sources.push(`resume ${index}`),
          },
        }),
    );
    return { inboxes, received, sources, runNext: () => queued.shift()?.(), queued };
  }

  it('read one chunk of a peer beyond its waiting messages', () => {
    const { inboxes, received, sources, runNext, queued } = createInboxes(2);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_PER_YIELD + 1));
    expect(sources).toEqual([]);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_PER_YIELD));
    inboxes[0]?.push(frames(0, 1));
    expect(sources).toEqual(['pause 0']);
    inboxes[1]?.push(frames(0, 1));
    while (queued.length > 0) runNext();
    expect(sources).toEqual(['pause 0', 'resume 0']);
    expect(received).toHaveLength(2 * MAX_MESSAGES_PER_YIELD + 3);
  });

  it('split waiting bytes only when they are handled', () => {
    const { inboxes, received, runNext } = createInboxes(2);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_PER_YIELD));
    inboxes[1]?.push(concatBytes(frames(0, 2), NO_FRAME));
    expect(received).toHaveLength(MAX_MESSAGES_PER_YIELD);
    runNext();
    expect(received.slice(MAX_MESSAGES_PER_YIELD)).toEqual(['1:0', '1:1', '1 broken']);
  });

  it('deliver waiting messages at the end of a connection, except dropped ones', () => {
    const { inboxes, received, runNext } = createInboxes(3);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_PER_YIELD));
    inboxes[1]?.push(frames(0, 2));
    inboxes[2]?.push(frames(0, 2));
    inboxes[1]?.drain();
    expect(received.slice(-2)).toEqual(['1:0', '1:1']);
    inboxes[2]?.clear();
    runNext();
    expect(received).toHaveLength(MAX_MESSAGES_PER_YIELD + 2);
    inboxes[2]?.push(frames(2, 1));
    expect(received.at(-1)).toBe('2:2');
  });
});
