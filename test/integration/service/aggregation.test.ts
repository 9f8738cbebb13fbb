import { expect, test } from 'vitest';
import type { AggregationEvent } from '../../../src/api/aggregation/progress-records.ts';
import { follow } from '../../unit/api/aggregation/follow-events.ts';
import { reply, startStandIn } from '../proxy/stand-in.ts';
import { shareService } from './shared-service.ts';

const POST_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';

const service = await shareService(12);
const { l1, primary } = service.devnet.subnets;

async function stream(path: string, body?: object): Promise<AggregationEvent[]> {
  const response = await fetch(`${service.app.url}${path}`, {
    headers: { accept: 'text/event-stream', ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  return [...(await response.text()).matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, event, data]) => ({ event, data: JSON.parse(data as string) }) as AggregationEvent,
  );
}

// First: a cached result has no progress.
test('streams of messages and of transactions report each validator, and end with the signed message', async () => {
  const { path = '' } = service.devnet.examples('fuji').find(({ method }) => method === 'GET') ?? {};
  const [message] = service.devnet.emitMessages(1);
  const streams = [
    await stream(POST_PATH, { message, quorumPercentage: 60, quorumPercentageBuffer: 20 }),
    await stream(path),
  ];
  for (const events of streams) {
    const last = events.at(-1);
    if (last?.event !== 'result') throw new Error(`the last event is ${JSON.stringify(last)}`);
    const { signedWeight, totalWeight, signingSubnetId, pChainHeight, signers } = last.data;
    const view = follow(events.slice(0, -1))!;
    expect(view).toMatchObject({ network: 'local', signedWeight, totalWeight, signingSubnetId, pChainHeight });
    expect(BigInt(signedWeight)).toBeGreaterThanOrEqual(BigInt(view.targetWeight));
    const signed = view.validators.filter(({ status }) => status === 'signed');
    expect(signed.map(({ nodeIds }) => nodeIds[0])).toEqual(signers);
    expect(signed.reduce((sum, { weight }) => sum + BigInt(weight), 0n)).toBe(BigInt(signedWeight));
    const answer = { status: 201, headers: new Headers(), body: last.data };
    const quorum = view.quorumPercentage + view.quorumPercentageBuffer;
    const expected = { subnetID: signingSubnetId, height: pChainHeight, quorum };
    expect(await service.verify(answer, expected)).toMatchObject({ kind: 'valid' });
  }
});

test('answers every example with 201 and a message that a destination accepts', async () => {
  for (const { name, method, path, body = {} } of service.devnet.examples('testnet')) {
    const answer = method === 'GET' ? await service.get(path) : await service.post(body, path);
    expect(answer.status, `${name}: ${JSON.stringify(answer.body)}`).toBe(201);
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(answer.body['signedMessage']).toMatch(/^[0-9a-f]+$/);
    const isOfL1 =
      body.signingSubnetId !== undefined || /^(L1|by (?!EVM)|by EVM transaction: L1)|for the L1$/.test(name);
    const { subnetID } = isOfL1 ? l1 : primary;
    const height = Number(answer.body['pChainHeight']);
    const verification = await service.verify(answer, { subnetID, quorum: body.quorumPercentage ?? 67, height });
    expect({ name, ...verification }).toMatchObject({ name, kind: 'valid' });
  }
});

test('requests may name a subnet that a reload tracks', async () => {
  await using strict = await service.another({ network: { allowedSubnetIds: [] } });
  const { app, config } = strict;
  const { body } = service.devnet.examples('fuji').find((example) => example.body?.signingSubnetId === l1.subnetID)!;
  expect(await strict.post(body)).toMatchObject({ status: 403, body: { code: 'subnet_not_allowed' } });
  const networks = config.networks.map((network) => ({ ...network, trackedSubnetIDs: [l1.subnetID] }));
  expect(await app.update({ ...config, networks })).toEqual(new Map());
  expect((await strict.post(body)).status).toBe(201);
});

test('a removal needs the block of the registration, or a data API that names its transaction', async () => {
  await using dataApi = await startStandIn();
  dataApi.behaviour = reply(200, { transactions: [{ txHash: service.devnet.transactions.usedUpRegistration }] });
  // The same network, as seen from two services that read no block but the newest.
  const limits = { network: { indexLookback: 0n } };
  await using without = await service.another({ limits });
  const network = { dataApi: { baseUrl: `${dataApi.baseUrl}/data/` } };
  await using helped = await service.another({ limits, network });
  const removal = 'by transaction: SetL1ValidatorWeightTx that removes a registered validator';
  const path = service.devnet.examples('fuji').find(({ name }) => name === removal)?.path ?? '';
  // Before its first block is read, the service answers 503.
  let answer = await without.get(path);
  while (answer.status === 503) answer = await without.get(path);
  expect(answer).toMatchObject({ status: 404, body: { code: 'justification_not_found' } });
  expect((await helped.get(path)).status).toBe(201);
  expect(dataApi.arrivals[0]?.target).toMatch(
    /^\/data\/v1\/networks\/mainnet\/blockchains\/p-chain\/transactions\?l1ValidationId=\w+&sortOrder=asc&pageSize=10$/,
  );
});

test('proves the highest uptime that the quorum signs, to the second', async () => {
  // The weights are 350, 250, 150, 100, and 60 that cannot sign.
  const validators = service.devnet.l1Validators();
  const validationID = validators.find(({ weight }) => weight === 100n)!.validationID;
  const seen: Readonly<Record<string, bigint>> = { 350: 1_000n, 250: 4_000n, 150: 3_000n, 100: 2_999n };
  service.devnet.chains.L1.uptimes!.seenBy = (nodeID, validation) => {
    const node = validators.find((validator) => validator.nodeID === nodeID);
    return validation === validationID ? seen[String(node?.weight)] : undefined;
  };
  const path = `/v1/signatureAggregator/fuji/validations/${validationID}/uptime`;
  const answer = await service.get(path);
  expect(answer).toMatchObject({
    status: 200,
    body: { validationId: validationID, blockchainId: l1.blockchainID, uptimeSeconds: 1_000, totalWeight: '910' },
  });
  const height = Number(answer.body['pChainHeight']);
  const verification = await service.verify(answer, { subnetID: l1.subnetID, height, quorum: 67 });
  expect(verification).toMatchObject({ kind: 'valid' });
  // 50 % are 455: without the heaviest, the weakest of the others decides.
  expect((await service.get(`${path}?quorumPercentage=50`)).body).toMatchObject({ uptimeSeconds: 2_999 });
  expect((await service.get(path.replace(validationID, l1.subnetID))).body).toMatchObject({
    code: 'unknown_validation',
    message: expect.stringMatching(/^validationId: /),
  });
});
