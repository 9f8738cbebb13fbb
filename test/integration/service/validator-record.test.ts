import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SubnetHistoryBody, ValidatorHistoryBody } from '../../../src/api/subnets/history-records.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { setBehaviour } from '../../devnet/faulty-validator.ts';
import { validatorsAt } from './running-service.ts';
import { shareService } from './shared-service.ts';

const PATH = `/v1/signatureAggregator/fuji/subnets/${PRIMARY_NETWORK_ID}`;
const MESSAGES = 20;
const NONSENSE = 20;
const FLOOD_KEY = 'key-of-the-client-that-floods';
const GOOD_KEY = 'key-of-the-client-that-signs';

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

const service = await shareService(20, {
  settings: {
    access: {
      apiKeys: [
        { name: 'flood', sha256: hashOf(FLOOD_KEY), unitsPerMinute: 100_000 },
        { name: 'good', sha256: hashOf(GOOD_KEY), unitsPerMinute: 100_000 },
      ],
    },
  },
});
const { devnet } = service;
const { validators } = createWarpSet(await validatorsAt(devnet.apiUrl, PRIMARY_NETWORK_ID));
const byWeight = validators.toSorted((a, b) => (a.weight < b.weight ? 1 : -1)).map(({ nodeIDs: [nodeID] }) => nodeID);
/** Heavy enough to be asked each time; the node of the API goes on. Together they have less than a quarter of the weight. */
const [lagging = '', refusing = '', stopped = ''] = byWeight
  .filter((nodeID) => nodeID !== devnet.nodeIDs[0])
  .slice(2, 5);
const indexOf = (nodeID: string): number => devnet.nodeIDs.findIndex((known) => known === nodeID);

describe('a devnet with a lagging, a refusing and a stopped validator, and a client that floods nonsense', () => {
  test('has a record that names the three, and nobody else', async () => {
    setBehaviour(devnet.validator(indexOf(lagging)), { kind: 'slow', delayMs: 2_000 });
    setBehaviour(devnet.validator(indexOf(refusing)), { kind: 'refusing' });
    await devnet.validator(indexOf(stopped)).stop();

    const nonsense = Array.from({ length: NONSENSE }, (_, n) =>
      devnet.chains.C.prepare(Buffer.from(`nobody emitted ${n}`)),
    );
    const flood = Promise.all(nonsense.map(({ bytes }) => post(Buffer.from(bytes).toString('hex'), FLOOD_KEY)));
    const signed: number[] = [];
    for (const message of devnet.emitMessages(MESSAGES)) signed.push(await post(message, GOOD_KEY));
    expect(signed).toEqual(signed.map(() => 201));
    expect((await flood).filter((status) => status === 201)).toEqual([]);

    const { status, body } = await service.get(`${PATH}/history`);
    expect(status).toBe(200);
    const { validators: recorded, totalWeight, hours } = body as unknown as SubnetHistoryBody;
    const named = recorded.slice(0, 3);
    expect(named.flatMap(({ nodeIds }) => nodeIds).toSorted()).toEqual([lagging, refusing, stopped].toSorted());
    for (const { signed: count, asked } of named) expect([count, asked > 0]).toEqual([0, true]);
    const of = (nodeID: string) => recorded.find(({ nodeIds }) => nodeIds.includes(nodeID));
    expect(of(lagging)?.timedOut).toBeGreaterThan(0);
    expect(of(refusing)?.refused).toBeGreaterThan(0);
    expect(of(stopped)?.unreachable).toBeGreaterThan(0);
    // A pause of a machine under load may make one answer late.
    for (const { signedShare = 1, refused } of recorded.slice(3)) {
      expect(refused).toBe(0);
      expect(signedShare).toBeGreaterThan(0.9);
    }
    expect(Number(hours.at(-1)?.signingWeight) / Number(totalWeight)).toBeLessThan(0.85);

    const history = (await service.get(`${PATH}/validators/${refusing}/history`))
      .body as unknown as ValidatorHistoryBody;
    expect(history).toMatchObject({ nodeIds: [refusing], totalWeight });
    expect(history.hours.reduce((sum, { refused }) => sum + refused, 0)).toBe(of(refusing)?.refused);
    expect(history.days.reduce((sum, { asked }) => sum + asked, 0)).toBe(of(refusing)?.asked);
  });

  test('has no record of a subnet that is not tracked, and of a node that does not validate', async () => {
    const { subnetID } = devnet.subnets.l1;
    const untracked = await service.get(`/v1/signatureAggregator/fuji/subnets/${subnetID}/history`);
    expect([untracked.status, untracked.body['code']]).toEqual([404, 'not_recorded']);
    const unknown = await service.get(`${PATH}/validators/${service.app.nodeID}/history`);
    expect([unknown.status, unknown.body['code']]).toEqual([404, 'unknown_validator']);
  });
});

test('one setting switches the record off', async () => {
  await using off = await service.another({ store: { recordValidators: false } });
  const { status, body } = await off.get(`${PATH}/history`);
  expect([status, body['code']]).toEqual([404, 'not_recorded']);
});

async function post(message: string, key: string): Promise<number> {
  const path = '/v1/signatureAggregator/fuji/aggregateSignatures';
  return (await service.post({ message }, path, { 'x-service-api-key': key })).status;
}
