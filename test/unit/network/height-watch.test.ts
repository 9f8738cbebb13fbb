import { expect, it, onTestFinished } from 'vitest';

import { openHeightWatch } from '../../../src/network/height-watch.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { hang } from '../aggregation/api-failures.ts';

function openScripted() {
  const clock = new FakeClock();
  const log = createLogLines();
  const script = { answer: 'height' as 'height' | 'fails' | 'hangs', readAtMs: [] as number[], recoveries: 0 };
  const watch = openHeightWatch({
    clock,
    logger: log.logger,
    timeoutMs: 5_000,
    api: {
      async getProposedHeight(signal) {
        script.readAtMs.push(clock.monotonicMs());
        if (script.answer === 'fails') throw new Error('HTTP status 502');
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
  ['fails', 'HTTP status 502'],
  ['hangs', 'reading the proposed height took longer than 5000 ms'],
] as const)(
  'an API that %s is down 30 s after the last reading, and up with the first one',
  async (answer, failure) => {
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
  },
);

it("a caller's reading ends the problem at once", async () => {
  const { clock, script, watch } = openScripted();
  script.answer = 'hangs';
  await clock.advance(60_000);
  expect(watch.problem()).toBeDefined();
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
