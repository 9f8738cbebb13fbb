import { describe, expect, test } from 'vitest';
import type { SubnetListBody, SubnetViewBody } from '../../../src/api/subnets/subnet-records.ts';
import { setBehaviour } from '../../devnet/faulty-validator.ts';
import { shareService } from './shared-service.ts';

const PATH = '/v1/signatureAggregator/fuji/subnets';

/** One of the L1's validators rejects connections; another one is stopped. */
const service = await shareService(12, {
  settings: { network: { readyQuorumPercentage: 50 } },
  prepare: async (devnet) => setBehaviour(devnet.validator(0), { kind: 'not admitting' }),
});
await service.devnet.validator(2).stop();
const l1 = service.devnet.subnets.l1.subnetID;

async function view(query = ''): Promise<SubnetViewBody> {
  const { status, body } = await service.get(`${PATH}/${l1}${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as unknown as SubnetViewBody;
}

describe('GET /v1/signatureAggregator/fuji/subnets/{subnetId}', () => {
  test('names each validator that cannot sign with its reason, before any request', async () => {
    const body = await view();
    const { nodeIDs } = service.devnet;
    // 100, 350, 150, 250, and 60 that ran out of balance.
    expect(body).toMatchObject({
      subnetId: l1,
      totalWeight: '910',
      connectedWeight: '600',
      reachableWeight: '600',
      signableWeight: '600',
      highestQuorum: 65,
      withoutKey: { weight: '60', count: 1 },
    });
    const rows = body.validators.map(({ weight, status, reason, nodes: [node] }) => ({
      weight,
      status,
      reason,
      nodeId: node?.nodeId,
    }));
    expect(rows).toMatchObject([
      { weight: '350', status: 'signable' },
      { weight: '250', status: 'signable' },
      {
        weight: '150',
        status: 'unreachable',
        nodeId: nodeIDs[2],
        reason: expect.stringMatching(/^connection (refused|lost: )/),
      },
      { weight: '100', status: 'unreachable', nodeId: nodeIDs[0], reason: expect.stringMatching(/^not admitted/) },
      { weight: '60', status: 'inactive', reason: expect.stringContaining('balance has run out') },
    ]);
    const [first, , stopped, closed, inactive] = body.validators;
    expect(first).toMatchObject({ index: expect.any(Number), publicKey: expect.stringMatching(/^[0-9a-f]{96}$/) });
    expect(first?.nodes[0]).toMatchObject({
      isConnected: true,
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      version: expect.stringMatching(/^\S+\/\d+\.\d+\.\d+$/),
      balance: expect.stringMatching(/^[1-9]\d*$/),
    });
    expect(stopped?.nodes[0]).toMatchObject({
      isConnected: false,
      obstacle: { cause: expect.stringMatching(/^(lost|tcp_refused)$/) },
    });
    expect(closed?.nodes[0]).toMatchObject({ obstacle: { cause: 'not_admitted' } });
    expect(inactive).not.toHaveProperty('index');
    expect(inactive?.nodes[0]).toMatchObject({ balance: '0' });
    for (const { nodes } of body.validators) expect(nodes[0]).not.toHaveProperty('lastAnswer');
  });

  test('shows the outcomes of requests', async () => {
    const good = service.devnet.chains.L1.emit(Buffer.from('view'));
    const message = Buffer.from(good.bytes).toString('hex');
    expect((await service.post({ message, quorumPercentage: 65 })).status).toBe(201);
    const bad = service.devnet.chains.L1.prepare(Buffer.from('nobody emitted this'));
    expect((await service.post({ message: Buffer.from(bad.bytes).toString('hex'), quorumPercentage: 50 })).status).toBe(
      500,
    );
    const { validators, signableWeight } = await view();
    expect(signableWeight).toBe('600');
    expect(validators[0]?.nodes[0]).toMatchObject({
      lastAnswer: { outcome: 'refused', ageMs: expect.any(Number) },
      lastRefusal: { code: 1, text: expect.stringContaining('addressed call') },
      latency: { answers: expect.any(Number), medianMs: expect.any(Number), p99Ms: expect.any(Number) },
    });
  });

  test('of an older height and of a destination shows the validators that count there', async () => {
    const { olderHeight, blockchainID } = service.devnet.subnets.l1;
    const older = await view(`?pChainHeight=${olderHeight}`);
    expect(older).toMatchObject({ pChainHeight: olderHeight, totalWeight: '510' });
    const epoch = await view(`?destinationBlockchainId=${blockchainID}`);
    expect(epoch.totalWeight).toBe('910');
  });

  test('is in the list of subnets, once it was asked for', async () => {
    const { body } = await service.get(PATH);
    const { subnets } = body as unknown as SubnetListBody;
    expect(subnets).toMatchObject([
      { subnetId: service.devnet.subnets.primary.subnetID, isTracked: true, status: 'up' },
      { subnetId: l1, isTracked: false, status: 'up', connectedWeight: '600', totalWeight: '910' },
    ]);
  });
});
