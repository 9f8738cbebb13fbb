import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startDevnet } from '../../../src/devnet/devnet.ts';
import { DevnetValidator } from '../../../src/devnet/node/devnet-validator.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { DevnetClient } from './devnet-client.ts';

const logger = createLogger('silent');

test('a devnet that is closed leaves no timer and no port', async () => {
  const clock = new FakeClock();
  await using devnet = await startDevnet({ validators: 3, clock, logger });
  const { client } = await DevnetClient.handshake(devnet.validator(1), clock);
  expect(clock.pendingTimers).toBeGreaterThan(0);
  await devnet[Symbol.asyncDispose]();
  await client.ended;
  expect(clock.pendingTimers).toBe(0);
  await expect(fetch(devnet.apiUrl)).rejects.toThrow(/./);
});

test.each([2, 2.5, 2_001])('a devnet cannot have %s validators', async (validators) => {
  await expect(startDevnet({ validators, clock: new FakeClock(), logger })).rejects.toThrow('3 to 2000 validators');
});

test('a devnet that cannot listen rejects', async () => {
  // TEST-NET-1 (RFC 5737): no machine has this address.
  const start = startDevnet({ validators: 3, host: '192.0.2.1', clock: new FakeClock(), logger });
  await expect(start).rejects.toThrow('cannot open a port for each of 5 validators');
});

test('a devnet whose start is ended stops the validators that run', async () => {
  const ending = new AbortController();
  const validators: DevnetValidator[] = [];
  const start = startDevnet({
    validators: 40,
    clock: new FakeClock(),
    logger,
    signal: ending.signal,
    createValidator(...made) {
      const validator = new DevnetValidator(...made);
      validators.push(validator);
      return validator;
    },
    onProgress: (done) => done > 0 && ending.abort(new Error('the service stops')),
  });
  await expect(start).rejects.toThrow('the service stops');
  const { host, port } = validators[0]!.address;
  await expect(once(connect(port, host), 'connect')).rejects.toThrow('ECONNREFUSED');
});

test('a validator that restarts within a second keeps its NodeID, and its new address is the later one', async () => {
  await using devnet = await startDevnet({ validators: 3, clock: new FakeClock(), logger });
  const validator = devnet.validator(1);
  const { port, timestamp } = validator.address;
  await validator.stop();
  await validator.start(port);
  expect(validator.address).toMatchObject({ port, nodeID: devnet.nodeIDs[1], timestamp: timestamp + 1n });
});
