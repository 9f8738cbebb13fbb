import { bls12_381 } from '@noble/curves/bls12-381.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SIGNATURE_DST } from '../../../src/bls/backends/bls-backend.ts';
import { type Devnet, type DevnetOptions, startDevnet } from '../../../src/devnet/devnet.ts';
import type { DevnetValidator } from '../../../src/devnet/node/devnet-validator.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../../../src/warp/signature-request.ts';
import type { UnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { faultOptions, setBehaviour } from '../../devnet/validator-faults.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { DevnetClient } from './devnet-client.ts';

const { longSignatures } = bls12_381;

let clock: FakeClock;
let devnet: Devnet;
let validator: DevnetValidator;
let message: UnsignedMessage;
let cleanup: AsyncDisposableStack;
let lastRequestID = -1;

async function start(options: Partial<DevnetOptions> = {}): Promise<void> {
  clock = new FakeClock();
  devnet = cleanup.use(await startDevnet({ validators: 3, clock, logger: createLogger('silent'), ...options }));
  validator = devnet.validator(1);
  message = devnet.chains.C.emit(Buffer.from('hello'));
}

beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function connect(): Promise<DevnetClient> {
  return cleanup.use((await DevnetClient.handshake(validator, clock)).client);
}

function ask(client: DevnetClient, about = message): number {
  lastRequestID += 2;
  const appBytes = encodeSignatureRequest({ message: about.bytes, justification: new Uint8Array() });
  client.sendRequest(devnet.subnets.primary.cChainID, lastRequestID, appBytes);
  return lastRequestID;
}

/** The outcome of one request: 'signed', 'wrong', or the code of the refusal. */
async function outcomeOf(client: DevnetClient, about = message): Promise<unknown> {
  const requestID = ask(client, about);
  const { message: answer } = await client.next('appResponse', 'appError');
  expect(answer.value.requestId).toBe(requestID);
  if (answer.case === 'appError') return answer.value.errorCode;
  const hashed = longSignatures.hash(about.bytes, SIGNATURE_DST);
  const isRight = longSignatures.verify(parseSignatureResponse(answer.value.appBytes), hashed, validator.publicKey);
  return isRight ? 'signed' : 'wrong';
}

test('a validator signs what its chain emitted, also with a shared key, and refuses other messages', async () => {
  await start({ sharedBlsKeys: [[0, 1]] });
  expect(validator.publicKey).toEqual(devnet.validator(0).publicKey);
  const client = await connect();
  expect(await outcomeOf(client)).toBe('signed');
  expect(await outcomeOf(client, devnet.chains.C.prepare(Buffer.from('never said')))).toBe(1);
});

test('a validator that admits nobody disconnects present and new peers', async () => {
  await start();
  const before = await connect();
  setBehaviour(validator, { kind: 'not admitting' });
  await before.ended;
  const after = await DevnetClient.connect(validator, clock);
  await after.ended;
  await expect(after.next('handshake')).rejects.toThrow('ended');
  setBehaviour(validator, { kind: 'normal' });
  expect(await outcomeOf(await connect())).toBe('signed');
});

test('a frozen validator sends nothing, and handles all that was received when it continues', async () => {
  await start();
  const client = await connect();
  setBehaviour(validator, { kind: 'frozen' });
  const requestID = ask(client);
  // Longer than the timeout for silent peers and the interval of pings.
  await clock.advance(60_000);
  expect([validator.appRequestCount, client.isEnded]).toEqual([0, false]);
  setBehaviour(validator, { kind: 'normal' });
  expect((await client.next('appResponse')).message.value.requestId).toBe(requestID);
});

test('a validator that stops closes its connections and its port; after a restart it has the same identity', async () => {
  await start();
  const client = await connect();
  const { port, timestamp } = validator.address;
  await validator.stop();
  await client.ended;
  await expect(DevnetClient.connect(validator, clock)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await validator.restart(port);
  expect(validator.address).toMatchObject({ port, nodeID: devnet.nodeIDs[1] });
  expect(validator.address.timestamp > timestamp).toBe(true);
  expect(await outcomeOf(await connect())).toBe('signed');
});

test('a devnet that is closed leaves no timer and no port', async () => {
  await start(faultOptions({ behaviours: new Map([[1, { kind: 'slow', delayMs: 1_000 }]]) }));
  const client = await connect();
  ask(client);
  await client.roundTrip();
  expect(clock.pendingTimers).toBeGreaterThan(0);
  await cleanup.disposeAsync();
  expect(clock.pendingTimers).toBe(0);
  await expect(fetch(devnet.apiUrl)).rejects.toThrow(/./);
});

test.each([2, 2.5, 2_001])('a devnet cannot have %s validators', async (validators) => {
  await expect(start({ validators })).rejects.toThrow('3 to 2000 validators');
});

test('a devnet that cannot listen rejects', async () => {
  // TEST-NET-1 (RFC 5737): no machine has this address.
  await expect(start({ host: '192.0.2.1' })).rejects.toThrow('cannot open a port for each of 5 validators');
});
