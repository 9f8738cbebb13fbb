import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { startGateway } from '../../devnet/gateway.ts';
import { GATEWAY_FAULTS, type GatewayFaultName } from '../../devnet/gateway-faults.ts';
import { type Answer, serve } from '../service/running-service.ts';
import { askAll, endpointsOf, failuresOf, type Service } from './behind-gateway.ts';

/** Of each fault, beside the examples. `GATEWAY_MESSAGES=172` makes 200 requests with the examples. */
const NEW_MESSAGES = Number(process.env['GATEWAY_MESSAGES'] ?? 3);
const AT_ONCE = 8;
/** Age from which the proposed height is read again. */
const HEIGHT_AGE_MS = 1_001;

const names = Object.keys(GATEWAY_FAULTS) as GatewayFaultName[];
const devnet = await startFaultyDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
afterAll(() => devnet[Symbol.asyncDispose]());
const examples = devnet.examples('fuji');

function createSkippingClock() {
  let skippedMs = 0;
  return {
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs },
    expire(): void {
      skippedMs += HEIGHT_AGE_MS;
    },
  };
}

const codesOf = (answers: readonly Answer[]): unknown[] =>
  answers.flatMap(({ status, body }) => (status === 201 ? [] : [body['code']]));

/** Has so many new messages signed, some at a time, and each after the proposed height has to be read again. */
async function askForNew(count: number, { post }: Service, expire: () => void): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) {
    expire();
    const messages = devnet.emitMessages(Math.min(AT_ONCE, count - answers.length));
    answers.push(...(await Promise.all(messages.map((message) => post({ message })))));
  }
  return answers;
}

test.each(names)('the first of two APIs, from the start: %s', async (name) => {
  await using gateway = await startGateway(devnet.apiUrl, GATEWAY_FAULTS[name]);
  await using other = await startGateway(devnet.apiUrl);
  const { clock, expire } = createSkippingClock();
  await using service = await serve(devnet, { clock, network: { pChainApi: endpointsOf(gateway, other) } });
  expect(failuresOf(examples, await askAll(service, examples))).toEqual({});
  expect(codesOf(await askForNew(NEW_MESSAGES, service, expire))).toEqual([]);
});

test.each(names)('the first of two APIs, while running: %s', async (name) => {
  await using gateway = await startGateway(devnet.apiUrl);
  await using other = await startGateway(devnet.apiUrl);
  const { clock, expire } = createSkippingClock();
  await using service = await serve(devnet, { clock, network: { pChainApi: endpointsOf(gateway, other) } });
  gateway.fault = GATEWAY_FAULTS[name];
  expect(codesOf(await askForNew(NEW_MESSAGES, service, expire))).toEqual([]);
  expect(failuresOf(examples, await askAll(service, examples))).toEqual({});
});
