import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { type GatewayCall, type GatewayFault, startGateway } from '../../devnet/gateway.ts';
import { serve } from './running-service.ts';

const TIMEOUT_MS = 60_000;
const SILENCE_MS = 30_000;
const UNKNOWN_SUBNET = 'SkB7qHwfMsyF2PgrjhMvtFxJKhuR5ZfVoW9VATWRV4P9jV7J';

/** The system's clock, of which durations can be skipped, with the timers that are due by then. */
function createSkippingClock(): Clock & { skip(ms: number): void } {
  const timers = new Set<{ readonly dueMs: number; run(): void }>();
  let skippedMs = 0;
  const monotonicMs = (): number => systemClock.monotonicMs() + skippedMs;
  return {
    ...systemClock,
    monotonicMs,
    after(delayMs, callback) {
      const cancel = (): void => {
        timers.delete(timer);
        cancelTimer();
      };
      const timer = {
        dueMs: monotonicMs() + delayMs,
        run(): void {
          cancel();
          callback();
        },
      };
      const cancelTimer = systemClock.after(delayMs, timer.run);
      timers.add(timer);
      return cancel;
    },
    skip(ms) {
      skippedMs += ms;
      for (const timer of [...timers].toSorted((a, b) => a.dueMs - b.dueMs)) {
        if (timer.dueMs <= monotonicMs() && timers.has(timer)) timer.run();
      }
    },
  };
}

const FAULTS: readonly [string, GatewayFault][] = [
  ['fails', () => ({ status: 502, body: 'bad gateway' })],
  ['hangs', () => new Promise(() => undefined)],
];

/** A service whose P-Chain API is a gateway before that of a devnet. */
async function startBehindGateway() {
  await using opened = new AsyncDisposableStack();
  const clock = createSkippingClock();
  const devnet = opened.use(
    await startFaultyDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') }),
  );
  const gateway = opened.use(await startGateway(devnet.apiUrl));
  const service = opened.use(await serve(devnet, { clock, network: { pChainApi: [{ baseUrl: gateway.url }] } }));
  const owner = opened.move();
  return { clock, devnet, gateway, service, [Symbol.asyncDispose]: () => owner.disposeAsync() };
}

test.each(FAULTS)(
  'a service whose API %s later is down after 30 s, and up with the first answer',
  { timeout: TIMEOUT_MS },
  async (_, fault) => {
    await using rig = await startBehindGateway();
    const { clock, gateway, service } = rig;
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

const SILENT = 'no P-Chain API has reported the proposed height';
const WAITING = '/v1/signatureAggregator/fuji/aggregateSignatures?wait=30';

test.each(FAULTS)(
  'requests that need an API that %s fail without a call of it, unless they wait',
  { timeout: TIMEOUT_MS },
  async (_, fault) => {
    await using rig = await startBehindGateway();
    const { clock, devnet, gateway, service } = rig;
    const [first, fresh, waited] = devnet.emitMessages(3).map((message) => ({ message }));
    const { body: signed } = await service.post(first);
    const known = { ...first, pChainHeight: Number(signed['pChainHeight']) };
    const asked: GatewayCall[] = [];
    gateway.fault = (call, forward) => {
      if (Object.values(call.params).includes(UNKNOWN_SUBNET)) asked.push(call);
      return fault(call, forward);
    };
    // In parts, between which validators answer pings.
    for (let part = 0; part < 3; part += 1) {
      clock.skip(SILENCE_MS / 3);
      await service.get('/health/live');
    }
    // The readings of the height find out.
    await expect.poll(async () => (await service.post(fresh)).body['message'], { timeout: TIMEOUT_MS }).toMatch(SILENT);
    const failed = await service.post(fresh);
    expect(failed).toMatchObject({ status: 503, body: { code: 'p_chain_unavailable' } });
    expect(failed.headers.get('retry-after')).toMatch(/^[1-5]$/);
    expect(await service.get(`/v1/signatureAggregator/fuji/subnets/${UNKNOWN_SUBNET}`)).toMatchObject({
      status: 503,
      body: { code: 'p_chain_unavailable' },
    });
    expect(await service.post(known)).toMatchObject({ status: 201, body: { signedMessage: signed['signedMessage'] } });
    expect(asked).toEqual([]);
    const waiting = service.post(waited, WAITING);
    expect(await service.post(fresh)).toMatchObject({ status: 503 });
    gateway.fault = undefined;
    expect(await waiting).toMatchObject({ status: 201 });
    expect(await service.post(fresh)).toMatchObject({ status: 201 });
  },
);
