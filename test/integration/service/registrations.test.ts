import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { P_CHAIN_ID } from '../../../src/warp/ids.ts';
import { encodeL1Message, type RegisterL1Validator, registrationValidationID } from '../../../src/warp/l1-message.ts';
import { runCommand } from '../../unit/cli/run-command.ts';
import { registration } from '../../unit/pchain/state/test-chain.ts';
import type { Answer } from './running-service.ts';
import { shareService } from './shared-service.ts';

/** The P-Chain of the devnet stands still, two blocks after the beginning of an epoch. */
const HEIGHT = { inEpoch: 199, proposed: 201 };
let devnetMs = 0;
const service = await shareService(8, { devnetClock: { ...systemClock, monotonicMs: () => devnetMs } });
const { chains } = service.devnet;
const { l1 } = service.devnet.subnets;
devnetMs = 20_000;
const watching = await service.another({
  network: { feed: { chains: [{ blockchainId: l1.blockchainID, fromBlock: 1 }] } },
});

const PATH = '/v1/signatureAggregator/local';
const MINUTE_S = 60;
const nowS = (): number => Math.floor(Date.now() / 1_000);
/** A registration of the L1 that expires in so many seconds. */
const expiringIn = (seconds: number): RegisterL1Validator => ({
  ...registration(nowS() + seconds),
  subnetID: l1.subnetID,
});
const codes = ({ warnings }: Answer['body']): unknown[] =>
  ((warnings ?? []) as { code: string }[]).map(({ code }) => code);

/** The feed's record of a message, as soon as it is signed. */
async function fromFeed(messageID: string): Promise<Answer['body']> {
  for (;;) {
    const { body } = await watching.get(`${PATH}/messages/${messageID}`);
    if (body['status'] === 'signed') return body;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a message to the P-Chain is signed for its epoch by POST, by EVM hash and in the feed, and the command verify judges by it', async () => {
  const { hash, messages } = chains.L1.transact([encodeL1Message(expiringIn(10 * 60 * MINUTE_S))]);
  const [{ bytes, id }] = messages as [(typeof messages)[number]];
  const other = await service.post({ message: bytesToHex(chains.L1.emit(Buffer.from('to no chain')).bytes) });
  expect(other.body).toMatchObject({ pChainHeight: HEIGHT.proposed });
  const posted = await service.post({ message: bytesToHex(bytes) });
  const byHash = await service.get(`${PATH}/aggregateSignatures/${hash}?blockchainId=${l1.blockchainID}`);
  for (const { status, body } of [posted, byHash]) {
    expect([status, codes(body)]).toEqual([201, []]);
    expect(body).toMatchObject({ pChainHeight: HEIGHT.inEpoch, epoch: { pChainHeight: HEIGHT.inEpoch } });
    expect((body['epoch'] as { endTime: number }).endTime).toBeGreaterThan(0);
  }
  expect(await fromFeed(id)).toMatchObject({ pChainHeight: HEIGHT.inEpoch });
  const input = String(byHash.body['signedMessage']);
  const verdict = await runCommand(['verify', '--p-chain', service.devnet.apiUrl, '--json'], { input });
  expect(verdict).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(verdict.out)).toMatchObject({
    isValid: true,
    destinationBlockchainId: P_CHAIN_ID,
    pChainHeight: HEIGHT.inEpoch,
    epoch: { pChainHeight: HEIGHT.inEpoch },
  });
});

test.each([
  ['has expired', -MINUTE_S, 'registration_expired'],
  ['expires soon', 30 * MINUTE_S, 'registration_expires'],
])('a registration that %s is signed, and warned of', async (_, lifeS, code) => {
  const message = expiringIn(lifeS);
  const { hash, messages } = chains.L1.transact([encodeL1Message(message)]);
  const [{ bytes, id }] = messages as [(typeof messages)[number]];
  const posted = await service.post({ message: bytesToHex(bytes) });
  const byHash = await service.get(`${PATH}/aggregateSignatures/${hash}?blockchainId=${l1.blockchainID}`);
  const signedMessage = String(posted.body['signedMessage']);
  const verified = await service.post({ signedMessage }, `${PATH}/verify`);
  const time = new Date(Number(message.expiry) * 1_000).toISOString().replace('.000Z', 'Z');
  for (const body of [posted.body, byHash.body, verified.body, await fromFeed(id)]) {
    expect(codes(body)).toEqual([code]);
    expect(JSON.stringify(body['warnings'])).toContain(`${time} (Unix time ${message.expiry})`);
  }
  const content = { kind: 'RegisterL1Validator', expiry: String(message.expiry), expiryTime: time };
  expect(verified.body).toMatchObject({ isValid: true, payload: { content } });
  const decoded = await service.post({ data: signedMessage }, `${PATH}/decode`);
  expect(decoded.body).toMatchObject({ readings: [{ payload: { content } }] });
  const command = await runCommand(['verify', '--p-chain', service.devnet.apiUrl], { input: signedMessage });
  expect(command.code).toBe(0);
  expect(command.out).toContain('warning: the registration');
  expect(command.out).toContain(time);
});

test('the end of a validation whose registration could still reach the P-Chain is asked about once', async () => {
  const pending = expiringIn(60 * MINUTE_S);
  const justification = bytesToHex(encodeL1Message(pending));
  const remembered = 'signature_aggregator_remembered_failures_total{code="registration_pending"}';
  const first = await service.post({ justification });
  const second = await service.post({ justification });
  for (const { status, body, headers } of [first, second]) {
    expect([status, body['code']]).toEqual([400, 'registration_pending']);
    expect(body).toMatchObject({ details: { registrableUntil: Number(pending.expiry) } });
    expect(body['message']).toContain(registrationValidationID(pending));
    expect(Math.abs(Number(headers.get('retry-after')) - 60 * MINUTE_S)).toBeLessThan(MINUTE_S);
  }
  expect(await service.metric(remembered)).toBe(1);
  const go = await service.post({ justification }, '/local/aggregate-signatures');
  expect(go.status).toBe(400);
});

describe('GET …/validations/{validationId}', () => {
  const of = (id: string, query = '') => watching.get(`${PATH}/validations/${id}${query}`);
  /** The validation in a P-Chain message of the devnet's examples. */
  async function validationWith(wanted: object): Promise<string> {
    for (const { body } of service.devnet.examples('local')) {
      const { body: decoded } = await service.post({ data: body?.message ?? '00' }, `${PATH}/decode`);
      const [reading] = (decoded['readings'] ?? []) as { payload?: { content?: { validationId?: string } } }[];
      const { content } = reading?.payload ?? {};
      if (
        content?.validationId !== undefined &&
        Object.entries(wanted).every(([name, value]) => (content as Record<string, unknown>)[name] === value)
      ) {
        return content.validationId;
      }
    }
    throw new Error('no such example');
  }

  /** Sends the requests of signable messages, which must all be signed. */
  async function signAll({ signable }: Answer['body']): Promise<void> {
    for (const { request } of signable as { request: { method: string; path: string; body?: object } }[]) {
      const { path, body } = request;
      const answer = body === undefined ? await watching.get(path) : await watching.post(body, path);
      expect([answer.status, path, answer.body['message']]).toEqual([201, path, undefined]);
    }
  }

  test('finds what the manager sent in the feed or by the transaction, and how to have it signed', async () => {
    const message = expiringIn(60 * MINUTE_S);
    const { hash, messages } = chains.L1.transact([encodeL1Message(message)]);
    const [{ id }] = messages as [(typeof messages)[number]];
    await fromFeed(id);
    const validationID = registrationValidationID(message);
    const fromStore = await of(validationID);
    const ofOther = await service.get(
      `${PATH}/validations/${validationID}?txHash=${hash}&blockchainId=${l1.blockchainID}`,
    );
    for (const { status, body } of [fromStore, ofOther]) {
      expect(status, JSON.stringify(body)).toBe(200);
      expect(body).toMatchObject({
        validationId: validationID,
        state: 'initiated',
        subnetId: l1.subnetID,
        managerBlockchainId: l1.blockchainID,
        expired: false,
        registrableUntil: Number(message.expiry),
        weight: null,
        initiated: [{ kind: 'RegisterL1Validator', txHash: hash, messageId: id, expiry: Number(message.expiry) }],
        signable: [{ kind: 'RegisterL1Validator', to: 'p_chain', request: { method: 'GET' } }],
      });
      await signAll(body);
    }
    const without = await service.get(`${PATH}/validations/${validationID}`);
    expect(without.body).toMatchObject({ state: 'unknown', initiated: null });
    const given = await service.get(
      `${PATH}/validations/${validationID}?justification=${bytesToHex(encodeL1Message(message))}`,
    );
    expect(given.body).toMatchObject({ state: 'initiated', registrableUntil: Number(message.expiry), initiated: null });
  });

  test('of a validator and of a removed one, each signable message is signed', async () => {
    const changed = await of(await validationWith({ kind: 'L1ValidatorWeight' }));
    expect(changed.body).toMatchObject({
      state: 'active',
      registered: true,
      removed: false,
      weight: '350',
      minNonce: '2',
    });
    expect(changed.body['signable']).toHaveLength(2);
    await signAll(changed.body);
    const removed = await of(await validationWith({ kind: 'L1ValidatorRegistration', registered: false }));
    expect(removed.body).toMatchObject({ state: 'removed', registered: true, removed: true, weight: null });
    expect(removed.body['signable']).toHaveLength(1);
    await signAll(removed.body);
  });

  test.each([
    [
      'a transaction of another validation',
      (hash: string) => `?txHash=${hash}`,
      /^txHash: .* about another validation/,
    ],
    ['a P-Chain transaction ID', () => `?txHash=${P_CHAIN_ID}`, /^txHash must be the hash of an EVM transaction/],
    ['a chain without a transaction', () => '?blockchainId=C', /^blockchainId is for txHash, which is missing/],
    ['what is no registration', () => '?justification=00', /^justification: it is no registration/],
  ])('names the parameter for %s', async (_, query, text) => {
    const { hash } = chains.L1.transact([encodeL1Message(expiringIn(MINUTE_S))]);
    const { status, body } = await of(
      registrationValidationID(expiringIn(5)),
      query(`${hash}&blockchainId=${l1.blockchainID}`),
    );
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
    expect(body['message']).toMatch(text);
  });

  test("refuses the transaction of another sender than the validator manager, which sent the manager's content", async () => {
    const message = expiringIn(60 * MINUTE_S);
    for (const chain of [chains.L1, chains.C]) {
      const { hash } = chain.transact([encodeL1Message(message)], 'succeeded', new Uint8Array(20).fill(9));
      const query = `?txHash=${hash}&blockchainId=${chain.blockchainID}`;
      const { status, body } = await of(registrationValidationID(message), query);
      expect([status, body['code']]).toEqual([400, 'invalid_request']);
      expect(body['message']).toMatch(/^txHash: .* is not of the validator manager, which is 0x\w{40} on blockchain /);
    }
  });

  test('the command validation prints it', async () => {
    const validationID = await validationWith({ kind: 'L1ValidatorWeight' });
    const { code, out, err } = await runCommand(['validation', '--url', watching.app.url, validationID]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`validation ${validationID}: active\n`);
    expect(out).toMatch(/registrable until: not known, because it was registered/);
    const message = expiringIn(60 * MINUTE_S);
    const { hash } = chains.L1.transact([encodeL1Message(message)]);
    const options = ['--tx', hash, '--chain', l1.blockchainID, '--json'];
    const json = await runCommand([
      'validation',
      '--url',
      service.app.url,
      registrationValidationID(message),
      ...options,
    ]);
    expect(JSON.parse(json.out)).toMatchObject({ state: 'initiated' });
  });
});

test('GET …/subnets/{subnetId}/uptimes has the signed uptime of each active validator, by pages', async () => {
  const path = `${PATH}/subnets/${l1.subnetID}/uptimes?pageSize=3`;
  const first = await service.get(path);
  expect(first.status, JSON.stringify(first.body)).toBe(200);
  const second = await service.get(`${path}&pageToken=${String(first.body['nextPageToken'])}`);
  const validators = [first, second].flatMap(
    ({ body }) => body['validators'] as { validationId: string; signedMessage: string; failure?: object }[],
  );
  // Of the six validators, one is inactive and one was removed.
  expect([validators.length, second.body['nextPageToken']]).toEqual([4, undefined]);
  expect(new Set(validators.map(({ validationId }) => validationId)).size).toBe(4);
  for (const { validationId, signedMessage, failure } of validators) {
    expect(failure).toBeUndefined();
    const { body } = await service.post({ signedMessage }, `${PATH}/verify`);
    expect(body).toMatchObject({ isValid: true, payload: { content: { kind: 'ValidatorUptime', validationId } } });
  }
  const foreign = await service.get(`${PATH}/subnets/${l1.subnetID}/uptimes?pageToken=${btoa('["subnets",1]')}`);
  expect(foreign.status).toBe(400);
});
