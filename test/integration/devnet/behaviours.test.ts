import { bls12_381 } from '@noble/curves/bls12-381.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import type { DevnetValidator } from '../../../src/devnet/node/devnet-validator.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../../../src/warp/signature-request.ts';
import type { UnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import type { Behaviour } from '../../devnet/behaviour.ts';
import { faultOptions, setBehaviour } from '../../devnet/validator-faults.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { DevnetClient } from './devnet-client.ts';

const { longSignatures } = bls12_381;
const SIGNATURE_DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';

let clock: FakeClock;
let devnet: Devnet;
let validator: DevnetValidator;
let message: UnsignedMessage;
let cleanup: AsyncDisposableStack;
let lastRequestID = -1;

async function start(behaviour?: Behaviour): Promise<void> {
  clock = new FakeClock();
  const faults = faultOptions(behaviour && { behaviours: new Map([[1, behaviour]]) });
  devnet = cleanup.use(await startDevnet({ validators: 3, clock, logger: createLogger('silent'), ...faults }));
  validator = devnet.validator(1);
  message = devnet.emit('C', Buffer.from('hello'));
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

test('normal: signs what its chain emitted, with its key, and refuses the rest', async () => {
  await start();
  const client = await connect();
  expect(await outcomeOf(client)).toBe('signed');
  expect(await outcomeOf(client, devnet.unknownMessage('C', Buffer.from('never said')))).toBe(1);
});

test('not admitting: disconnects who is there, and who comes after TLS', async () => {
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

describe('frozen', () => {
  test('says nothing to its peers, and takes up all of it when it thaws', async () => {
    await start();
    const client = await connect();
    setBehaviour(validator, { kind: 'frozen' });
    const requestID = ask(client);
    // Time enough for the validator to have dropped a silent peer, were it alive; and no ping comes either.
    await clock.advance(60_000);
    expect(validator.appRequestCount).toBe(0);
    expect(client.isEnded).toBe(false);
    setBehaviour(validator, { kind: 'normal' });
    expect((await client.next('appResponse')).message.value.requestId).toBe(requestID);
  });
});

test('a validator that stops ends its connections and its port; restarted, it signs with the same identity', async () => {
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
  await validator.restart();
  expect(await outcomeOf(await connect())).toBe('signed');
});

test('two that share a BLS key sign the same', async () => {
  clock = new FakeClock();
  const sharedBlsKeys = [[0, 1]] as const;
  devnet = cleanup.use(await startDevnet({ validators: 3, clock, logger: createLogger('silent'), sharedBlsKeys }));
  expect(devnet.validator(1).publicKey).toEqual(devnet.validator(0).publicKey);
  validator = devnet.validator(1);
  message = devnet.emit('C', Buffer.from('hello'));
  expect(await outcomeOf(await connect())).toBe('signed');
});

test('nothing is left behind', async () => {
  await start({ kind: 'slow', delayMs: 1_000 });
  const client = await connect();
  ask(client);
  await client.roundTrip();
  expect(clock.pendingTimers).toBeGreaterThan(0);
  await cleanup.disposeAsync();
  expect(clock.pendingTimers).toBe(0);
  await expect(fetch(devnet.apiUrl)).rejects.toThrow(/./);
});

test.each([0, 2, 2.5, 2_001, Number.NaN])('refuses to start with %s validators', async (validators) => {
  const starting = startDevnet({ validators, clock: new FakeClock(), logger: createLogger('silent') });
  await expect(starting).rejects.toThrow('3 to 2000 validators');
});

test('says what is wrong where it cannot listen, and leaves nothing open', async () => {
  const starting = startDevnet({
    validators: 3,
    clock: new FakeClock(),
    logger: createLogger('silent'),
    // TEST-NET-1 (RFC 5737): no machine has this address.
    host: '192.0.2.1',
  });
  await expect(starting).rejects.toThrow('cannot open a port for each of 5 validators');
});
