import { describe, expect, it } from 'vitest';
import { askNetworkID } from '../../../src/network/network-id.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const logger = createLogger('silent');

describe('askNetworkID', () => {
  it('retries with growing pauses until the API responds', async () => {
    const clock = new FakeClock();
    const askedAtMs: number[] = [];
    const failures: string[] = [];
    const api = {
      async getNetworkID() {
        askedAtMs.push(clock.monotonicMs());
        if (askedAtMs.length < 8) throw new Error(`failure ${askedAtMs.length}`);
        return 12_345;
      },
    };
    const onFailure = (reason: string): number => failures.push(reason);
    const asking = askNetworkID({ api, clock, logger, timeoutMs: 100, onFailure }, new AbortController().signal);
    await clock.advance(120_000);
    expect(await asking).toBe(12_345);
    expect(askedAtMs).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000]);
    expect(failures).toHaveLength(7);
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends a hanging attempt and retries', async () => {
    const clock = new FakeClock();
    let asked = 0;
    const api = {
      getNetworkID(signal: AbortSignal): Promise<number> {
        asked += 1;
        if (asked > 1) return Promise.resolve(5);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
      },
    };
    const asking = askNetworkID({ api, clock, logger, timeoutMs: 5_000 }, new AbortController().signal);
    await clock.advance(6_000);
    expect(await asking).toBe(5);
  });

  it('rejects with the reason of its signal', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const api = { getNetworkID: () => Promise.reject(new Error('down')) };
    const asking = askNetworkID({ api, clock, logger, timeoutMs: 100 }, stop.signal);
    const outcome = asking.catch((error: unknown) => error);
    await clock.advance(10);
    stop.abort(new Error('the service stops'));
    await clock.advance(0);
    expect(await outcome).toMatchObject({ message: 'the service stops' });
    expect(clock.pendingTimers).toBe(0);
  });
});
