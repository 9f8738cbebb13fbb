import { expect, it, onTestFinished } from 'vitest';

import { openHeightWatch } from '../../../src/network/height-watch.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { hang } from '../aggregation/api-failures.ts';

function openScripted() {
  const clock = new FakeClock();
  const log = createLogLines();
  const script = { answer: 'height' as 'height' | 'hangs' | Error, readAtMs: [] as number[], recoveries: 0 };
  const watch = openHeightWatch({
    clock,
    logger: log.logger,
    timeoutMs: 5_000,
    api: {
      async getProposedHeight(signal) {
        script.readAtMs.push(clock.monotonicMs());
        if (script.answer instanceof Error) throw script.answer;
        return script.answer === 'hangs' ? hang(signal) : 7n;
      },
    },
  });
  watch.onRecovery(() => {
    script.recoveries += 1;
  });
  onTestFinished(() => watch[Symbol.asyncDispose]());
  return { clock, log, script, watch };
}

const signal = new AbortController().signal;
const AWAY = new ApiError('unavailable', 'HTTP status 502');
const REFUSED = new ApiError('method_refused', 'not served');

function refusalOf(watch: ReturnType<typeof openHeightWatch>): unknown {
  try {
    watch.requireUp();
    return undefined;
  } catch (error) {
    return error;
  }
}

it('reads the height every ten seconds, less often where callers read it', async () => {
  const { clock, script, watch } = openScripted();
  await clock.advance(25_000);
  expect(script.readAtMs).toEqual([10_000, 20_000]);
  expect(await watch.getProposedHeight(signal)).toBe(7n);
  await clock.advance(12_000);
  expect(script.readAtMs).toEqual([10_000, 20_000, 25_000, 35_000]);
  expect(watch.problem()).toBeUndefined();
});

it.each([
  [AWAY, 'HTTP status 502'],
  [REFUSED, 'not served'],
  ['hangs', 'reading the proposed height took longer than 5000 ms'],
] as const)('an API (%s) is down 30 s after the last reading, and up with the first one', async (answer, failure) => {
  const { clock, log, script, watch } = openScripted();
  await clock.advance(10_000);
  script.answer = answer;
  await clock.advance(29_999);
  expect(watch.problem()).toBeUndefined();
  await clock.advance(1);
  expect(watch.problem()).toBe(`no P-Chain API has reported the proposed height for 30 s: ${failure}`);
  await clock.advance(120_000);
  expect(log.count('its P-Chain API does not answer')).toBe(1);
  expect(script.recoveries).toBe(0);
  script.answer = 'height';
  await clock.advance(7_000);
  expect(watch.problem()).toBeUndefined();
  expect([script.recoveries, log.count('reports the proposed height again')]).toEqual([1, 1]);
});

it('an API that is down answers no caller until the watch reads the height', async () => {
  const { clock, script, watch } = openScripted();
  script.answer = AWAY;
  await clock.advance(29_999);
  expect(refusalOf(watch)).toBeUndefined();
  await clock.advance(1);
  const readings = script.readAtMs.length;
  const reason = 'no P-Chain API has reported the proposed height for 30 s: HTTP status 502';
  expect(refusalOf(watch)).toMatchObject({ code: 'unavailable', message: reason, retryAfterMs: 2_000 });
  await clock.advance(1_500);
  script.answer = 'height';
  await expect(watch.getProposedHeight(signal)).rejects.toMatchObject({
    message: reason.replace('30 s', '31 s'),
    retryAfterMs: 500,
  });
  expect(script.readAtMs).toHaveLength(readings);
  await clock.advance(500);
  expect(refusalOf(watch)).toBeUndefined();
  expect(await watch.getProposedHeight(signal)).toBe(7n);
});

it('names the end of a reading that hangs, and a longer pause that the API wants', async () => {
  const { clock, script, watch } = openScripted();
  script.answer = 'hangs';
  await clock.advance(38_000);
  expect(script.readAtMs.at(-1)).toBe(38_000);
  expect(refusalOf(watch)).toMatchObject({ retryAfterMs: 5_000 });
  script.answer = new ApiError('unavailable', 'HTTP status 429', { retryAfterMs: 60_000 });
  await clock.advance(7_000);
  expect(refusalOf(watch)).toMatchObject({ retryAfterMs: 60_000 });
});

it('callers ask an API that answers, but has no height: they may name one', async () => {
  const { clock, script, watch } = openScripted();
  script.answer = REFUSED;
  await clock.advance(60_000);
  expect(watch.problem()).toBeDefined();
  expect(refusalOf(watch)).toBeUndefined();
  script.answer = 'height';
  await watch.getProposedHeight(signal);
  expect(watch.problem()).toBeUndefined();
  expect(script.recoveries).toBe(1);
});

it('leaves no timer when it is closed during a reading', async () => {
  const { clock, script, watch } = openScripted();
  script.answer = 'hangs';
  await clock.advance(11_000);
  await watch[Symbol.asyncDispose]();
  expect(clock.pendingTimers).toBe(0);
});
