import { beforeEach, describe, expect, it } from 'vitest';
import type { NodeVersion } from '../../../../src/p2p/connection/handshake.ts';
import { VersionWatch } from '../../../../src/p2p/connection/version-watch.ts';
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
  watch = new VersionWatch({
    clock,
    logger: { debug: () => undefined, info: () => undefined, warn: () => void (warnings += 1) },
    ask: (signal) => {
      asked.push(clock.monotonicMs());
      return answer(signal);
    },
    onAnswer: () => void (answers += 1),
  });
});

/** Calls it every 250 ms. */
async function tickFor(ms: number, tick: (nowMs: number) => void = (nowMs) => watch.askIfUnsure(nowMs)): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 250) {
    tick(clock.monotonicMs());
    await clock.advance(250);
  }
}

describe('VersionWatch', () => {
  it('asks until it knows, with pauses, and says why it does not', async () => {
    answer = () => Promise.reject(new Error('the API is down'));
    expect(watch.current).toBeUndefined();
    expect(watch.failure).toBeUndefined();
    await tickFor(5_000);
    expect(asked).toEqual([0, 2_000, 4_000]);
    expect(watch.failure).toBe('the API is down');
    expect(warnings).toBe(3);
    answer = async () => version(15);
    await tickFor(5_000);
    expect(watch.current).toEqual(version(15));
    expect(watch.failure).toBeUndefined();
    expect([asked.length, answers]).toEqual([4, 1]);
  });

  it('asks one question at a time, and gives one up that takes too long', async () => {
    answer = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    await tickFor(12_500);
    expect(asked).toEqual([0, 12_000]);
    expect(watch.failure).toBe('asking for the node version took longer than 10000 ms');
  });

  it('asks again for use after a minute, and serves the old answer until then and meanwhile', async () => {
    await tickFor(250);
    await tickFor(60_250, (nowMs) => watch.askIfOld(nowMs));
    expect(asked).toEqual([0, 60_000]);
    answer = () => Promise.reject(new Error('the API is down'));
    await tickFor(62_500, (nowMs) => watch.askIfOld(nowMs));
    expect(asked).toEqual([0, 60_000, 120_000, 122_000]);
    expect(watch.current).toEqual(version(14));
  });

  it('does not ask merely because time passes', async () => {
    await tickFor(300_000);
    expect(asked).toEqual([0]);
  });

  it('asks soon where a peer’s refusal casts doubt, but not more often than every two seconds', async () => {
    await tickFor(250);
    answer = async () => {
      watch.doubt();
      return version(15);
    };
    watch.doubt();
    await tickFor(1_750);
    expect(asked).toEqual([0]);
    await tickFor(250);
    expect(asked).toEqual([0, 2_000]);
    expect(watch.current).toEqual(version(15));
    // The answer came after the doubt.
    await tickFor(10_000);
    expect(asked).toEqual([0, 2_000]);
  });

  it('asks and warns no more once it is closed, and leaves no timer', async () => {
    answer = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    watch.askIfUnsure(0);
    watch.close();
    await tickFor(20_000);
    expect(asked).toEqual([0]);
    expect([warnings, answers, clock.pendingTimers]).toEqual([0, 0, 0]);
  });
});
