import { beforeEach, expect, it } from 'vitest';
import { EventLoopScheduler } from '../../../../src/lib/concurrency/event-loop-scheduler.ts';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { PacedInbox } from '../../../../src/p2p/connection/paced-inbox.ts';
import { UnrequestedTime } from '../../../../src/p2p/connection/unrequested-time.ts';
import { encodeFrame } from '../../../../src/p2p/wire/frames.ts';

const MAX_MESSAGES_PER_YIELD = 32;

/** Monotonic time, which handling a message advances. */
let nowMs: number;
let costMs: number;
let isRequested: boolean;
let unrequested: UnrequestedTime;
let onHandle: () => void;
/** First bytes of handled messages after the number of their inbox, what was not a frame, and floods. */
let handled: string[];
let source: string[];
let turns: (() => void)[];
let inboxes: PacedInbox[];
let inbox: PacedInbox;
beforeEach(() => {
  [nowMs, costMs, handled, source, turns] = [0, 0, [], [], []];
  [isRequested, unrequested] = [true, new UnrequestedTime()];
  onHandle = () => undefined;
  const clock = { monotonicMs: () => nowMs };
  const scheduler = new EventLoopScheduler(
    { afterTurn: (callback) => void turns.push(callback) },
    MAX_MESSAGES_PER_YIELD,
  );
  inboxes = [0, 1, 2].map(
    (number) =>
      new PacedInbox({
        clock,
        scheduler,
        unrequested,
        key: `${number}`,
        handle([first = -1]) {
          handled.push(`${number}:${first}`);
          nowMs += costMs;
          onHandle();
          return isRequested;
        },
        onFlood: () => void handled.push(`${number} floods`),
        onBroken: () => void handled.push(`${number} broken`),
        source: {
          pause: () => void source.push(`pause ${number}`),
          resume: () => void source.push(`resume ${number}`),
        },
      }),
  );
  [inbox] = inboxes as [PacedInbox];
});

const frames = (first: number, count: number): Uint8Array =>
  concatBytes(...Array.from({ length: count }, (_, index) => encodeFrame(Uint8Array.of(first + index))));
/** Header of a frame above the limit. */
const NO_FRAME = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0);
const upTo = (count: number): string[] => Array.from({ length: count }, (_, index) => `0:${index}`);
const tick = (times: number): void => {
  for (let time = 0; time < times; time += 1) inbox.tick();
};

it('the messages of a peer are delivered in order for any chunks', () => {
  for (const byte of frames(0, 5)) inbox.push(Uint8Array.of(byte));
  inbox.push(frames(5, 3));
  expect(handled).toEqual(upTo(8));
  expect(source).toEqual([]);
});

it('the messages of a peer wait for the next tick after their share of time, and the source is paused', () => {
  costMs = 10;
  inbox.push(frames(0, 20));
  // Five use 50 ms, which does not exceed the share.
  expect(handled).toEqual(upTo(6));
  expect(source).toEqual(['pause 0']);
  tick(1);
  expect(handled).toEqual(upTo(11));
  inbox.push(frames(20, 2));
  expect(handled).toEqual(upTo(11));
  tick(3);
  expect(handled).toEqual(upTo(22));
  expect(source.at(-1)).toBe('resume 0');
});

it('the messages of a peer use the share of several ticks where one takes long, but a pause of this process counts as a few', () => {
  for (const [cost, ticks] of [
    [175, 3],
    [3_000, 3],
  ] as const) {
    handled.length = 0;
    costMs = cost;
    inbox.push(frames(0, 1));
    costMs = 0;
    inbox.push(frames(1, 1));
    tick(ticks - 1);
    expect(handled).toEqual(upTo(1));
    tick(1);
    expect(handled).toEqual(upTo(2));
    expect(source.at(-1)).toBe('resume 0');
    tick(5);
  }
});

it('the messages of a peer are dropped when a handler clears the inbox', () => {
  onHandle = () => inbox.clear();
  inbox.push(frames(0, 3));
  expect(handled).toEqual(upTo(1));
});

it('an inbox reads one chunk of a peer beyond its waiting messages', () => {
  inbox.push(frames(0, MAX_MESSAGES_PER_YIELD + 1));
  expect(source).toEqual([]);
  inbox.push(frames(0, MAX_MESSAGES_PER_YIELD));
  inbox.push(frames(0, 1));
  expect(source).toEqual(['pause 0']);
  inboxes[1]?.push(frames(0, 1));
  while (turns.length > 0) turns.shift()?.();
  expect(source).toEqual(['pause 0', 'resume 0']);
  expect(handled).toHaveLength(2 * MAX_MESSAGES_PER_YIELD + 3);
});

it('waiting bytes are split only when they are handled', () => {
  inbox.push(frames(0, MAX_MESSAGES_PER_YIELD));
  inboxes[1]?.push(concatBytes(frames(0, 2), NO_FRAME));
  expect(handled).toHaveLength(MAX_MESSAGES_PER_YIELD);
  turns.shift()?.();
  expect(handled.slice(MAX_MESSAGES_PER_YIELD)).toEqual(['1:0', '1:1', '1 broken']);
});

it('waiting messages are delivered at the end of a connection, except dropped ones', () => {
  inbox.push(frames(0, MAX_MESSAGES_PER_YIELD));
  inboxes[1]?.push(frames(0, 2));
  inboxes[2]?.push(frames(0, 2));
  inboxes[1]?.drain();
  expect(handled.slice(-2)).toEqual(['1:0', '1:1']);
  inboxes[2]?.clear();
  turns.shift()?.();
  expect(handled).toHaveLength(MAX_MESSAGES_PER_YIELD + 2);
  inboxes[2]?.push(frames(2, 1));
  expect(handled.at(-1)).toBe('2:2');
});

/** Counts the messages that each inbox has handled since the last call. */
const counts = (): number[] => {
  const found = [0, 1, 2].map((number) => handled.filter((one) => one.startsWith(`${number}:`)).length);
  handled.length = 0;
  return found;
};
const tickAll = (): void => {
  unrequested.tick();
  for (const each of inboxes) each.tick();
  while (turns.length > 0) turns.shift()?.();
};

it('messages that we did not request get a share of the time of all, which shrinks with what all have used', () => {
  [isRequested, costMs] = [false, 1];
  for (const each of inboxes) each.push(frames(0, 30));
  // More than a quarter of what is left: of 25 - 6, of 25 - 6 - 4 and of 25 - 6 - 4 - 4 ms.
  expect(counts()).toEqual([6, 4, 4]);
  expect(source).toEqual(['pause 0', 'pause 1', 'pause 2']);
  tickAll();
  const [first = 0, second = 0, third = 0] = counts();
  expect(first + second + third).toBeLessThanOrEqual(25);
  expect(Math.min(first, second, third)).toBeGreaterThan(0);
});

it('one peer alone uses no more than its share of the time of all', () => {
  [isRequested, costMs] = [false, 1];
  inbox.push(frames(0, 250));
  counts();
  for (let time = 0; time < 10; time += 1) tickAll();
  expect(counts()).toEqual([50, 0, 0]);
});

it('messages that we requested are handled while others have used up the time of all', () => {
  [isRequested, costMs] = [false, 70];
  inbox.push(frames(0, 2));
  expect(counts()).toEqual([1, 0, 0]);
  costMs = 1;
  inboxes[1]?.push(frames(0, 5));
  expect(counts()).toEqual([0, 1, 0]);
  isRequested = true;
  inboxes[2]?.push(frames(0, 5));
  expect(counts()).toEqual([0, 0, 5]);
});

it('a peer that is held for three seconds without a break floods', () => {
  const second = (): void => {
    for (let time = 0; time < 4; time += 1) {
      inbox.push(frames(0, 6));
      tickAll();
    }
  };
  [isRequested, costMs] = [false, 1];
  for (let time = 0; time < 2; time += 1) second();
  for (let time = 0; time < 10; time += 1) tickAll();
  for (let time = 0; time < 2; time += 1) second();
  expect(handled).not.toContain('0 floods');
  second();
  expect(handled).toContain('0 floods');
});

it('a peer whose requested messages take long does not flood', () => {
  costMs = 100;
  for (let time = 0; time < 40; time += 1) {
    inbox.push(frames(0, 3));
    tickAll();
  }
  expect(handled).not.toContain('0 floods');
});
