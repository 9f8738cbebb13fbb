import { describe, expect, test } from 'vitest';
import { VALIDATOR_OUTCOMES } from '../../../src/aggregation/validators/validator-outcome.ts';
import type { RequestRecord } from '../../../src/api/requests/request-record.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { parseHexOrCb58Id } from '../../../src/warp/ids.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { runCommand } from '../../unit/cli/run-command.ts';
import { shareService, whileValidators } from './shared-service.ts';

const POST_ROUTE = '/v1/signatureAggregator/:network/aggregateSignatures';
const log = createLogLines();
log.logger.level = 'warn';
const access = { operateWithoutKey: true };
const service = await shareService(5, { settings: { access, logger: log.logger } });

const named = (id: string) => ({ 'x-request-id': id });
const newMessage = () => service.devnet.emitMessages(1)[0] as string;

async function recordOf(id: string): Promise<RequestRecord> {
  const { status, body } = await service.get(`/v1/requests/${encodeURIComponent(id)}`);
  expect(status).toBe(200);
  return body as unknown as RequestRecord;
}

async function list(query: string): Promise<RequestRecord[]> {
  const { status, body } = await service.get(`/v1/requests?${query}`);
  expect(status).toBe(200);
  return body['requests'] as RequestRecord[];
}

function sum({ weights = {} as NonNullable<RequestRecord['weights']> }: RequestRecord): bigint {
  return Object.values(weights).reduce((total, weight) => total + BigInt(weight), 0n);
}

describe('the record of a request', () => {
  test('that was signed has its stages and the weight of each outcome', async () => {
    const beganAt = Date.now();
    const answer = await service.post({ message: newMessage(), quorumPercentage: 60 }, undefined, named('signed/1'));
    expect(answer.status).toBe(201);
    const record = await recordOf('signed/1');
    const { subnetID, cChainID } = service.devnet.subnets.primary;
    expect(record).toMatchObject({
      id: 'signed/1',
      outcome: 'signed',
      status: 201,
      method: 'POST',
      route: POST_ROUTE,
      network: 'local',
      client: 'address:127.0.0.1',
      sourceChainId: cChainID,
      signingSubnetId: subnetID,
      pChainHeight: answer.body['pChainHeight'],
      quorumPercentage: 60,
      quorumPercentageBuffer: 0,
    });
    expect(record.endedAt).toBeGreaterThanOrEqual(beganAt);
    expect(record.endedAt).toBeLessThanOrEqual(Date.now());
    const { resolve = -1, connect = -1, collect = -1, verify = -1 } = record.stages;
    expect(Math.min(resolve, connect, collect, verify)).toBeGreaterThanOrEqual(0);
    expect(resolve + connect + collect + verify).toBeLessThanOrEqual(record.durationMs);
    expect(Object.keys(record.weights ?? {})).toEqual([...VALIDATOR_OUTCOMES]);
    expect(record.weights?.signed).toBe(answer.body['signedWeight']);
    expect(sum(record)).toBe(BigInt(String(answer.body['totalWeight'])));
  });

  test('that was repeated has no stage of a collection', async () => {
    const message = newMessage();
    await service.post({ message });
    await service.post({ message }, undefined, named('repeated'));
    const record = await recordOf('repeated');
    expect(Object.keys(record.stages)).toEqual(['resolve']);
    expect(record.outcome).toBe('signed');
    expect(sum(record)).toBeGreaterThan(0n);
  });

  test('that joined the same work has the stages since it came', async () => {
    const message = newMessage();
    await whileValidators(service, { kind: 'slow', delayMs: 300 }, () =>
      Promise.all(['joined-0', 'joined-1'].map((id) => service.post({ message }, undefined, named(id)))),
    );
    for (const { stages, durationMs } of [await recordOf('joined-0'), await recordOf('joined-1')]) {
      expect(Object.keys(stages)).toEqual(expect.arrayContaining(['resolve', 'collect', 'verify']));
      expect(Object.values(stages).reduce((total, ms) => total + ms, 0)).toBeLessThanOrEqual(durationMs + 0.1);
    }
  });

  test('that failed has the error that its client got, and its ID is in a log of warnings', async () => {
    const refusing = { kind: 'refusing', code: 100, message: 'not today' } as const;
    const send = () => service.post({ message: newMessage() }, undefined, named('failed'));
    const answer = await whileValidators(service, refusing, send, 3);
    const { code, message, details } = answer.body;
    const record = await recordOf('failed');
    expect(record).toMatchObject({ outcome: code, status: answer.status, errorMessage: message });
    expect(record.details).toEqual(details);
    for (const outcome of VALIDATOR_OUTCOMES) {
      expect(record).toHaveProperty(['details', 'outcomes', outcome, 'weight'], record.weights?.[outcome]);
    }
    await log.until('"requestId":"failed"', 1);
  });

  test('that was refused has what was known, and its ID is in a log of warnings', async () => {
    const wrong = await service.post({ message: 'zz' }, undefined, named('refused'));
    expect(wrong.status).toBe(400);
    expect(await recordOf('refused')).toMatchObject({ outcome: 'invalid_request', status: 400, stages: {} });
    expect((await recordOf('refused')).network).toBeUndefined();
    await log.until('"requestId":"refused"', 1);
  });

  test('of each of the routes for signatures is kept, and no other', async () => {
    const before = (await list('limit=2000')).length;
    await service.post({ message: newMessage() }, '/fuji/aggregate-signatures', named('go'));
    await service.get(`${POST_ROUTE.replace(':network', 'fuji')}/nothing`);
    await service.get('/v1/signatureAggregator/fuji/subnets');
    const after = await list('limit=2000');
    expect(after).toHaveLength(before + 2);
    expect(after.slice(0, 2)).toMatchObject([
      { method: 'GET', route: `${POST_ROUTE}/:txHash`, outcome: 'invalid_request' },
      { id: 'go', route: '/:network/aggregate-signatures', outcome: 'signed', network: 'local' },
    ]);
  });

  test('whose client disconnects is aborted, and has the stages so far', async () => {
    await whileValidators(service, { kind: 'silent' }, async () => {
      const leaving = new AbortController();
      const asked = fetch(`${service.app.url}${POST_ROUTE.replace(':network', 'fuji')}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...named('left') },
        body: JSON.stringify({ message: newMessage() }),
        signal: leaving.signal,
      });
      asked.catch(() => undefined);
      await expect.poll(() => service.metric('signature_aggregator_aggregations_in_flight')).toBe(1);
      await expect.poll(() => service.devnet.validator(0).appRequestCount).toBeGreaterThan(0);
      leaving.abort();
      await expect.poll(async () => (await list('outcome=aborted')).map(({ id }) => id)).toEqual(['left']);
    });
    const record = await recordOf('left');
    expect(record.status).toBeUndefined();
    expect(record.client).toBe('address:127.0.0.1');
    expect(Object.keys(record.stages)).toEqual(expect.arrayContaining(['resolve', 'connect', 'collect']));
    expect(await service.metric('signature_aggregator_aggregations_in_flight')).toBe(0);
  });
});

test('a list is filtered by outcome, subnet and time, and has the newest first', async () => {
  const { subnetID } = service.devnet.subnets.primary;
  const all = await list('limit=2000');
  expect(all.map(({ endedAt }) => endedAt)).toEqual(all.map(({ endedAt }) => endedAt).toSorted((a, b) => b - a));
  expect(all.some(({ weights }) => weights !== undefined && weights.refused !== '0')).toBe(true);
  expect(all.every(({ details }) => details === undefined)).toBe(true);
  expect(await list('outcome=signed')).toEqual(all.filter(({ outcome }) => outcome === 'signed'));
  expect(await list('outcome=invalid_request')).toEqual(all.filter(({ outcome }) => outcome === 'invalid_request'));
  expect(await list(`subnetId=${subnetID}`)).toEqual(all.filter(({ signingSubnetId }) => signingSubnetId === subnetID));
  const { endedAt } = all[1] as RequestRecord;
  expect(await list(`since=${endedAt}`)).toEqual(all.filter((one) => one.endedAt >= endedAt));
  expect(await list('limit=2')).toEqual(all.slice(0, 2));
});

test('the requests of a message are found by its ID, by its transaction and by their client, with height and destination', async () => {
  const { message, transactionHash } = service.devnet.emit('C');
  const { blockchainID } = service.devnet.subnets.l1;
  const first = await service.post({ message: bytesToHex(message.bytes) }, undefined, named('by-message'));
  const pChainHeight = Number(first.body['pChainHeight']);
  const query = `blockchainId=C&destinationBlockchainId=${blockchainID}&pChainHeight=${pChainHeight}`;
  const path = `${POST_ROUTE.replace(':network', 'fuji')}/${transactionHash}`;
  expect((await service.get(`${path}?${query}`)).status).toBe(201);
  const [ofTransaction, ofMessage] = await list(`messageId=${message.id}`);
  expect(ofMessage).toMatchObject({ id: 'by-message', messageId: message.id, pChainHeight });
  expect([ofMessage?.transaction, ofMessage?.requestedPChainHeight]).toEqual([undefined, undefined]);
  expect(ofTransaction).toMatchObject({
    messageId: message.id,
    txHash: transactionHash,
    transaction: transactionHash,
    requestedPChainHeight: pChainHeight,
    pChainHeight,
    destinationBlockchainId: blockchainID,
  });
  expect(await list(`transaction=${transactionHash}`)).toEqual([ofTransaction]);
  expect(await list(`txHash=${transactionHash}`)).toEqual([ofTransaction]);
  expect(await list(`transaction=${parseHexOrCb58Id(transactionHash, 'txHash')}`)).toEqual([ofTransaction]);
  expect(await list(`messageId=${message.id}&outcome=aborted`)).toEqual([]);
  const all = await list('limit=2000');
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1']) {
    expect(await list(`limit=2000&client=address:${address}`)).toEqual(all);
  }
  for (const client of ['address:127.0.0.2', 'key:127.0.0.1']) expect(await list(`client=${client}`)).toEqual([]);
});

test('a transaction that is unknown is in the record of its request', async () => {
  const hash = `0x${'12'.repeat(32)}`;
  await service.get(`${POST_ROUTE.replace(':network', 'fuji')}/${hash}?blockchainId=C`);
  const [record] = await list(`transaction=${hash}`);
  expect(record).toMatchObject({ transaction: hash, outcome: 'unknown_transaction', status: 404 });
  expect(record?.errorMessage).toContain(hash);
  expect(record?.messageId).toBeUndefined();
});

test.each([
  ['outcome=good', /^outcome must be one of signed, aborted, /],
  ['subnetId=zz', /^subnetId /],
  ['messageId=', /^messageId is empty/],
  ['transaction=0x12', /^transaction /],
  ['client=127.0.0.1', /^client must be key: and the name of an API key, or address: and an IP address$/],
  ['limit=2001', /^limit must be an integer from 1 to 2000/],
  ['subnet=11111111111111111111111111111111LpoYY', /^unknown parameter subnet; known are: outcome, subnetId/],
])('a list by %s is a 400 that names the parameter', async (query, message) => {
  const { status, body } = await service.get(`/v1/requests?${query}`);
  expect([status, body['code']]).toEqual([400, 'invalid_request']);
  expect(body['message']).toMatch(message);
});

test.each([
  ['never', 404, 'unknown_request'],
  ['with%20blank', 400, 'invalid_request'],
  ['x'.repeat(129), 400, 'invalid_request'],
])('a request by the ID %s is a %i', async (id, status, code) => {
  const answer = await service.get(`/v1/requests/${id}`);
  expect([answer.status, answer.body['code']]).toEqual([status, code]);
});

test('the command request shows a record', async () => {
  const { url } = service.app;
  await service.post({ message: newMessage() }, undefined, named('by-the-command'));
  const json = await runCommand(['request', 'by-the-command', '--url', url, '--json']);
  expect(json.code, json.err).toBe(0);
  expect(JSON.parse(json.out)).toEqual(await recordOf('by-the-command'));
  const words = await runCommand(['request', 'by-the-command', '--url', url]);
  expect(words).toMatchObject({ code: 0, out: expect.stringMatching(/outcome +signed\n/) });
  const unknown = await runCommand(['request', 'never', '--url', url]);
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('no recent request has the ID never') });
});
