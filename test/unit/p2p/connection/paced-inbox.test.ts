import { beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../../../src/lib/concurrency/event-loop-scheduler.ts';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { PacedInbox } from '../../../../src/p2p/connection/paced-inbox.ts';
import { encodeFrame } from '../../../../src/p2p/wire/frames.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const MAX_MESSAGES_A_TURN = 32;

/** A clock that handling moves: how long work takes is what is tested. */
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
    scheduler: new EventLoopScheduler(clock, MAX_MESSAGES_A_TURN),
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
/** The header of a longer frame than there may be. */
const NO_FRAME = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('PacedInbox', () => {
  it('hands over payloads in order, however the bytes are cut', () => {
    const bytes = frames(0, 5);
    for (const byte of bytes) inbox.push(Uint8Array.of(byte));
    inbox.push(frames(5, 3));
    expect(handled).toEqual(upTo(8));
    expect(source).toEqual([]);
  });

  it('pauses the source once the share is used up, and goes on with each tick', () => {
    costMs = 10;
    inbox.push(frames(0, 20));
    // Five use up 50 ms; the sixth is begun, as they have not exceeded it.
    expect(handled).toEqual(upTo(6));
    expect(source).toEqual(['pause']);
    inbox.tick();
    expect(handled).toEqual(upTo(11));
    // What was read before the pause comes after what waits.
    inbox.push(frames(20, 2));
    expect(handled).toEqual(upTo(11));
    inbox.tick();
    inbox.tick();
    inbox.tick();
    expect(handled).toEqual(upTo(22));
    expect(source.at(-1)).toBe('resume');
  });

  it('lets one long message be paid off over several ticks', () => {
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

  it('makes a peer pay for no pause of this process: it is heard again within a second', () => {
    costMs = 3_000;
    inbox.push(frames(0, 1));
    costMs = 0;
    inbox.push(frames(1, 1));
    expect(handled).toEqual([0]);
    for (const _ of upTo(3)) inbox.tick();
    expect(handled).toEqual([0, 1]);
    expect(source.at(-1)).toBe('resume');
  });

  it('drops what waits when it is cleared, even by a payload that is being handled', () => {
    onHandle = () => inbox.clear();
    inbox.push(frames(0, 3));
    expect(handled).toEqual([0]);
  });

  it('says of bytes that they are no frames, after what came before them, and reads nothing after them', () => {
    inbox.push(concatBytes(frames(0, 2), NO_FRAME, frames(2, 1)));
    expect(handled).toEqual([0, 1]);
    expect(broken).toEqual([expect.any(ParseError)]);
  });

  it('keeps bytes that wait as they came, as the source may use their memory again', () => {
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
  /** Inboxes 0, 1, … and the turns of the event loop that are to come. */
  function createInboxes(count: number) {
    const turns: (() => void)[] = [];
    const afterTurn = (callback: () => void) => void turns.push(callback);
    const scheduler = new EventLoopScheduler({ afterTurn }, MAX_MESSAGES_A_TURN);
    const heard: string[] = [];
    const sources: string[] = [];
    const inboxes = Array.from(
      { length: count },
      (_, index) =>
        new PacedInbox({
          clock: new FakeClock(),
          scheduler,
          key: `${index}`,
          handle: ([first = -1]) => void heard.push(`${index}:${first}`),
          onBroken: () => void heard.push(`${index} broken`),
          source: {
            pause: () => void sources.push(`pause ${index}`),
            resume: () => void sources.push(`resume ${index}`),
          },
        }),
    );
    return { inboxes, heard, sources, nextTurn: () => turns.shift()?.(), turns };
  }

  it('hand over so many messages in one turn of the event loop, and the others later, one of each peer after the other', () => {
    const { inboxes, heard, nextTurn, turns } = createInboxes(MAX_MESSAGES_A_TURN + 3);
    const half = MAX_MESSAGES_A_TURN / 2;
    const ofFirst = inboxes.slice(0, half).flatMap((_, index) => [`${index}:0`, `${index}:1`]);
    const ofRest = [0, 1].flatMap((message) => inboxes.slice(half).map((_, index) => `${half + index}:${message}`));
    const all = [...ofFirst, ...ofRest];
    for (const each of inboxes) each.push(frames(0, 2));
    expect(heard).toEqual(all.slice(0, MAX_MESSAGES_A_TURN));
    nextTurn();
    expect(heard).toEqual(all.slice(0, 2 * MAX_MESSAGES_A_TURN));
    // What comes meanwhile comes after what waits.
    inboxes[0]?.push(frames(2, 1));
    nextTurn();
    nextTurn();
    expect(heard).toEqual([...all, '0:2']);
    nextTurn();
    expect(turns).toEqual([]);
  });

  it('with a crowd of messages each hold up the others for no turn', () => {
    const { inboxes, heard, nextTurn, turns } = createInboxes(12);
    for (const each of inboxes.slice(0, 8)) each.push(frames(0, 4 * MAX_MESSAGES_A_TURN));
    for (const each of inboxes.slice(8)) each.push(frames(0, 1));
    expect(heard).toHaveLength(MAX_MESSAGES_A_TURN);
    nextTurn();
    expect(heard).toHaveLength(2 * MAX_MESSAGES_A_TURN);
    expect(heard).toEqual(expect.arrayContaining(['8:0', '9:0', '10:0', '11:0']));
    while (turns.length > 0) nextTurn();
    expect(heard).toHaveLength(8 * 4 * MAX_MESSAGES_A_TURN + 4);
  });

  it('read no more of a peer than one piece beyond what waits for its turn', () => {
    const { inboxes, heard, sources, nextTurn, turns } = createInboxes(2);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_A_TURN + 1));
    expect(sources).toEqual([]);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_A_TURN));
    inboxes[0]?.push(frames(0, 1));
    expect(sources).toEqual(['pause 0']);
    inboxes[1]?.push(frames(0, 1));
    while (turns.length > 0) nextTurn();
    expect(sources).toEqual(['pause 0', 'resume 0']);
    expect(heard).toHaveLength(2 * MAX_MESSAGES_A_TURN + 3);
  });

  it('cut no bytes into messages before their turn: thousands of empty frames would be fifty times as large', () => {
    const { inboxes, heard, nextTurn } = createInboxes(2);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_A_TURN));
    inboxes[1]?.push(concatBytes(frames(0, 2), NO_FRAME));
    expect(heard).toHaveLength(MAX_MESSAGES_A_TURN);
    nextTurn();
    expect(heard.slice(MAX_MESSAGES_A_TURN)).toEqual(['1:0', '1:1', '1 broken']);
  });

  it('hand over what waits where the connection ends, and nothing that was dropped', () => {
    const { inboxes, heard, nextTurn } = createInboxes(3);
    inboxes[0]?.push(frames(0, MAX_MESSAGES_A_TURN));
    inboxes[1]?.push(frames(0, 2));
    inboxes[2]?.push(frames(0, 2));
    inboxes[1]?.drain();
    expect(heard.slice(-2)).toEqual(['1:0', '1:1']);
    inboxes[2]?.clear();
    nextTurn();
    expect(heard).toHaveLength(MAX_MESSAGES_A_TURN + 2);
    inboxes[2]?.push(frames(2, 1));
    expect(heard.at(-1)).toBe('2:2');
  });
});
