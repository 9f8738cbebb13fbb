import { beforeEach, expect, test } from 'vitest';
import type { SubnetRecord, ValidatorRecord } from '../../../../src/record/record-view.ts';
import {
  addTime,
  type CountName,
  emptyCounts,
  increment,
  type SigningCounts,
} from '../../../../src/record/signing-counts.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { createTestServer, expectError, limitedTo, NODE_ID, scriptedNetwork } from '../api-fixture.ts';

const SUBNET = `/v1/signatureAggregator/fuji/subnets/${PRIMARY_NETWORK_ID}`;
const OTHER_NODE = nodeIDFromBytes(new Uint8Array(20).fill(7));

function countsOf(...names: readonly CountName[]): SigningCounts {
  const counts = emptyCounts();
  for (const name of names) increment(counts, name);
  addTime(counts, 20);
  return counts;
}

const COUNTS = countsOf('signed', 'signed', 'refused', 'samples', 'samples', 'connected');
const SHOWN = {
  asked: 3,
  signed: 2,
  refused: 1,
  timedOut: 0,
  unreachable: 0,
  invalidSignature: 0,
  notAsked: 0,
  signedShare: 0.6666,
  medianMs: 18,
  p95Ms: 20.7,
  connectedShare: 0.5,
};
const WHO = { publicKeyHex: 'ab', nodeIDs: [NODE_ID], weight: 5n };
const RECORD: SubnetRecord = {
  subnetID: PRIMARY_NETWORK_ID,
  sinceMs: 7_200_000,
  totalWeight: 2n ** 60n,
  hours: [{ startMs: 7_200_000, weight: 2n ** 59n }],
  validators: [
    { ...WHO, counts: COUNTS },
    { ...WHO, publicKeyHex: 'cd', counts: emptyCounts() },
  ],
};
const OF_VALIDATOR: ValidatorRecord = {
  ...WHO,
  subnetID: PRIMARY_NETWORK_ID,
  totalWeight: 9n,
  hours: [{ startMs: 3_600_000, counts: COUNTS }],
  days: [{ startMs: 0, counts: COUNTS }],
};

const asked: (number | undefined)[] = [];
let record: SubnetRecord | undefined = RECORD;
const server = await createTestServer({
  networks: [
    scriptedNetwork({
      record: {
        async subnet(_subnetID, sinceMs) {
          asked.push(sinceMs);
          return record;
        },
        validator: async (_subnetID, nodeID) => (nodeID === NODE_ID ? OF_VALIDATOR : 'no validator'),
      },
    }),
    scriptedNetwork({ pathNames: ['mainnet'] }),
  ],
  access: limitedTo(10_000),
});
beforeEach(() => {
  asked.length = 0;
  record = RECORD;
});

test('the history of a subnet has its validators in the order of the record, with shares, times and the weight of each hour', async () => {
  const response = await server.inject(`${SUBNET}/history`);
  expect(response.statusCode).toBe(200);
  const none = { asked: 0, signed: 0, refused: 0, timedOut: 0, unreachable: 0, invalidSignature: 0, notAsked: 0 };
  expect(response.json()).toEqual({
    subnetId: PRIMARY_NETWORK_ID,
    since: 7_200_000,
    totalWeight: String(2n ** 60n),
    hours: [{ start: 7_200_000, signingWeight: String(2n ** 59n) }],
    validators: [
      { publicKey: 'ab', nodeIds: [NODE_ID], weight: '5', ...SHOWN },
      { publicKey: 'cd', nodeIds: [NODE_ID], weight: '5', ...none },
    ],
  });
});

test('its pages have the beginning of the first', async () => {
  const first = (await server.inject(`${SUBNET}/history?pageSize=1&since=123`)).json();
  expect(first.validators).toHaveLength(1);
  const token = first.nextPageToken;
  const second = (await server.inject(`${SUBNET}/history?pageSize=1&pageToken=${token}`)).json();
  expect(second.validators.map(({ publicKey }: { publicKey: string }) => publicKey)).toEqual(['cd']);
  expect(second).not.toHaveProperty('nextPageToken');
  expect(asked).toEqual([123, 123]);
  expectError(
    await server.inject(`${SUBNET}/history?since=1&pageToken=${token}`),
    400,
    'since cannot be combined with pageToken, which has the beginning of the first page',
  );
  const view = await server.inject(`${SUBNET}/history?pageToken=${Buffer.from('["x@7",1]').toString('base64url')}`);
  expectError(view, 400, /^pageToken belongs to another list/);
});

test('of many validators it costs more units', async () => {
  record = { ...RECORD, validators: Array.from({ length: 250 }, () => ({ ...WHO, counts: COUNTS })) };
  const left = async () => Number((await server.inject(`${SUBNET}/history`)).headers['x-ratelimit-remaining']);
  const before = await left();
  expect(before - (await left())).toBe(7);
});

test('the history of a validator has its hours and days', async () => {
  const response = await server.inject(`${SUBNET}/validators/${NODE_ID}/history`);
  expect(response.json()).toEqual({
    subnetId: PRIMARY_NETWORK_ID,
    totalWeight: '9',
    publicKey: 'ab',
    nodeIds: [NODE_ID],
    weight: '5',
    hours: [{ start: 3_600_000, ...SHOWN }],
    days: [{ start: 0, ...SHOWN }],
  });
});

test.each([
  [`${SUBNET}/validators/${OTHER_NODE}/history`, 404, /is no validator/, 'unknown_validator'],
  [`${SUBNET}/validators/nonsense/history`, 400, /^nodeId must start with NodeID-$/, 'invalid_request'],
  ['/v1/signatureAggregator/fuji/subnets/nonsense/history', 400, /^subnetId/, 'invalid_request'],
  [`${SUBNET}/history?since=yesterday`, 400, /^since/, 'invalid_request'],
] as const)('GET %s is %i', async (url, status, message, code) => {
  expectError(await server.inject(url), status, message, code);
});

test('a subnet that is not recorded is 404, and so is each if the record is switched off', async () => {
  record = undefined;
  expectError(await server.inject(`${SUBNET}/history`), 404, /^there is no record/, 'not_recorded');
  for (const path of ['/history', `/validators/${NODE_ID}/history`]) {
    const off = SUBNET.replace('fuji', 'mainnet');
    expectError(await server.inject(`${off}${path}`), 404, /^there is no record/, 'not_recorded');
  }
});
