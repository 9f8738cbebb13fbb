import { expect, test } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

test('the start of a devnet is reported step by step, in the order of the steps', async () => {
  const told: string[] = [];
  const { config } = parseConfig({ networks: { own: { embedded: { validators: 5 } } }, server: { port: 0 } }, {}, {});
  await using app = await startApp({
    ...{ config, logger: createLogger('silent'), clock: systemClock, random: Math.random },
    onProgress: (text) => told.push(text),
  });
  await app.untilReady(AbortSignal.timeout(25_000));
  expect(told).toEqual(['starting validators: 0 of 7', 'starting validators: 7 of 7', 'connecting to the validators']);
}, 30_000);
