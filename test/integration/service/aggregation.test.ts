import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from './running-service.ts';

/** Whatever the validators do, a test's request settles by the service's own deadlines, which are shorter. */
const TIMEOUT_MS = 30_000;

describe('a service on a healthy network', { timeout: TIMEOUT_MS }, () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService(12);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
  });

  const requests = () => service.metric('signature_aggregator_signature_requests_total');
  const newMessage = () => service.devnet.emitMessages(1)[0] as string;
  const primary = () => service.devnet.subnets.primary.subnetID;

  test('answers every example with 201 and a message that a destination accepts', async () => {
    for (const { name, method, path, body = {} } of service.devnet.examples('testnet')) {
      const answer = method === 'GET' ? await service.get(path) : await service.post(body, path);
      expect(answer.status, `${name}: ${JSON.stringify(answer.body)}`).toBe(201);
      expect(answer.headers.get('content-type')).toContain('application/json');
      expect(answer.body['signedMessage']).toMatch(/^[0-9a-f]+$/);
      const isOfL1 = body.signingSubnetId !== undefined || /^(L1|by (?!EVM)|by EVM transaction: L1)/.test(name);
      const subnetID = isOfL1 ? service.devnet.subnets.l1.subnetID : primary();
      const quorum = body.quorumPercentage ?? 67;
      const height = Number(answer.body['pChainHeight']);
      const verification = await service.verify(answer, { subnetID, quorum, height });
      expect({ name, ...verification }).toMatchObject({ name, kind: 'valid' });
    }
  });

  test('sends no request to validators for a request that was answered before', async () => {
    const message = newMessage();
    const first = await service.post({ message });
    const asked = await requests();
    const again = await service.post({ message: `0x${message.replace(/^0x/, '')}`, quorumPercentage: 67 });
    // Not the whole body: the height may have moved on, with the same validators.
    expect(again.body['signedMessage']).toBe(first.body['signedMessage']);
    expect(await requests()).toBe(asked);
  });

  test('never serves a signature got with a justification to a request without it', async () => {
    const conversion = service.devnet.examples('fuji').find(({ name }) => name.includes('conversion of'));
    expect((await service.post(conversion?.body)).status).toBe(201);
    const { justification: _, ...without } = conversion?.body ?? {};
    const refused = await service.post(without);
    expect(refused.status).toBe(400);
    expect(refused.body['message']).toMatch(/justification/);
  });

  test('says with the code and text of the validators why a message they do not know is not signed', async () => {
    const { bytes } = service.devnet.chains.C.prepare(new TextEncoder().encode('never emitted'));
    const answer = await service.post({ message: Buffer.from(bytes).toString('hex') });
    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ statusCode: 500, error: 'Internal Server Error' });
    expect(answer.body['message']).toMatch(
      /^failed to collect a threshold of stake: signature weight is insufficient: 67\*\d+ > 100\*0 \(refused by \d+: .+\)$/,
    );
    const { outcomes } = answer.body['details'] as { outcomes: object };
    // Some of them are being asked again by then.
    expect(outcomes).toMatchObject({
      refused: { count: 12, reasons: [{ code: expect.any(Number), text: expect.any(String) }] },
      timed_out: { count: 0 },
    });
  });

  test('is live, ready, measured and described', async () => {
    expect(await service.get('/health/live')).toMatchObject({ status: 200, body: { status: 'up' } });
    const ready = await service.get('/health/ready');
    expect(ready).toMatchObject({
      status: 200,
      body: { status: 'up', networks: [{ name: 'local', status: 'up', nodeId: service.app.nodeID }] },
    });
    expect(
      await service.metric(`signature_aggregator_connected_weight_ratio{subnet_id="${primary()}"}`),
    ).toBeGreaterThanOrEqual(0.67);
    const { body } = await service.get('/openapi.json');
    expect(Object.keys(body['paths'] as object)).toContain('/v1/signatureAggregator/{network}/aggregateSignatures');
  });
});
