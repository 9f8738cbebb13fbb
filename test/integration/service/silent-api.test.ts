import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { type GatewayFault, startGateway } from '../../devnet/gateway.ts';
import { serve } from './running-service.ts';

const TIMEOUT_MS = 60_000;
const SILENCE_MS = 30_000;

/** The system's clock, of which durations can be skipped. */
function createSkippingClock(): Clock & { skip(ms: number): void } {
  let skippedMs = 0;
  return {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    skip(ms) {
      skippedMs += ms;
    },
  };
}

test.each<[string, GatewayFault]>([
  ['fails', () => ({ status: 502, body: 'bad gateway' })],
  ['hangs', () => new Promise(() => undefined)],
])(
  'a service whose API %s later is down after 30 s, and up with the first answer',
  { timeout: TIMEOUT_MS },
  async (_, fault) => {
    const clock = createSkippingClock();
    await using devnet = await startFaultyDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
    await using gateway = await startGateway(devnet.apiUrl);
    await using service = await serve(devnet, { clock, network: { pChainApi: [{ baseUrl: gateway.url }] } });
    const ready = async () => {
      const { status, body } = await service.get('/health/ready');
      const [network] = body['networks'] as { status: string; reason?: string }[];
      return { http: status, status: network?.status, reason: network?.reason };
    };
    expect(await ready()).toEqual({ http: 200, status: 'up', reason: undefined });
    gateway.fault = fault;
    clock.skip(SILENCE_MS);
    expect(await ready()).toEqual({
      http: 503,
      status: 'down',
      reason: expect.stringMatching(/^no P-Chain API has reported the proposed height for \d+ s: /),
    });
    gateway.fault = undefined;
    await expect.poll(ready, { timeout: TIMEOUT_MS }).toEqual({ http: 200, status: 'up', reason: undefined });
  },
);
