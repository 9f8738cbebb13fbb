import { beforeEach, expect, it } from 'vitest';
import type { NodeVersion } from '../../../../src/p2p/connection/handshake.ts';
import {
  createVersionWatch,
  NEWEST_KNOWN_VERSION,
  type VersionWatch,
} from '../../../../src/p2p/connection/version-watch.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const version = (minor: number): NodeVersion => ({ major: 1, minor, patch: 0 });

let clock: FakeClock;
let asked: number[];
let answers: number;
let warnings: number;
let answer: (signal: AbortSignal) => Promise<NodeVersion>;
let watch: VersionWatch;
beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  answers = 0;
  warnings = 0;
  answer = async () => version(14);
  watch = createVersionWatch({
    clock,
    logger: { warn: () => void (warnings += 1) },
    request: (signal) => {
      asked.push(clock.monotonicMs());
      return answer(signal);
    },
    onAnswer: () => void (answers += 1),
  });
});

/** Calls it every 250 ms. */
async function tickFor(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 250) {
    watch.tick(clock.monotonicMs());
    await clock.advance(250);
  }
}

it('without an answer, the newest known version is announced, with one warning', async () => {
  answer = () => Promise.reject(new Error('the method does not exist'));
  expect(watch.current).toBeUndefined();
  await tickFor(120_250);
  expect(watch.current).toEqual(NEWEST_KNOWN_VERSION);
  expect([asked, warnings, answers]).toEqual([[0, 60_000, 120_000], 1, 3]);
  answer = async () => version(14);
  await tickFor(60_000);
  expect(watch.current).toEqual(version(14));
});

it('the version watch sends one request at a time, and ends one that takes too long', async () => {
  answer = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await tickFor(70_500);
  expect(asked).toEqual([0, 70_000]);
  expect(watch.current).toEqual(NEWEST_KNOWN_VERSION);
});

it('the version watch refreshes a version that is a minute old, and returns the old one until then', async () => {
  await tickFor(60_250);
  expect(asked).toEqual([0, 60_000]);
  answer = () => Promise.reject(new Error('the API is down'));
  await tickFor(120_250);
  expect(asked).toEqual([0, 60_000, 120_000, 180_000]);
  expect(watch.current).toEqual(version(14));
});

it('the version watch refreshes an expired version, at most every two seconds', async () => {
  await tickFor(250);
  answer = async () => {
    watch.expire();
    return version(15);
  };
  watch.expire();
  await tickFor(1_750);
  expect(asked).toEqual([0]);
  await tickFor(250);
  expect(asked).toEqual([0, 2_000]);
  expect(watch.current).toEqual(version(15));
  // The response came after the expiry.
  await tickFor(10_000);
  expect(asked).toEqual([0, 2_000]);
});

it('the version watch sends no request, logs no warning and leaves no timer after it is closed', async () => {
  answer = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  watch.tick(0);
  watch.close();
  await tickFor(20_000);
  expect(asked).toEqual([0]);
  expect([warnings, answers, clock.pendingTimers]).toEqual([0, 0, 0]);
});
