import { beforeEach, describe, expect, test } from 'vitest';
import type { SubnetView, ValidatorView } from '../../../../src/aggregation/subnets/subnet-view.ts';
import type { KnownSubnet, SubnetRequest } from '../../../../src/aggregation/subnets/subnet-views.ts';
import type { AnswerPast } from '../../../../src/aggregation/validators/answer-history.ts';
import { encodePageToken } from '../../../../src/http/parameters/page-token.ts';
import { PRIMARY_NETWORK_ID, type SubnetID, type ValidationID } from '../../../../src/warp/ids.ts';
import { createTestServer, expectError, limitedTo, NODE_ID, scriptedNetwork } from '../api-fixture.ts';

const PATH = '/v1/signatureAggregator/fuji/subnets';
const ROUTES = [
  `GET ${PATH}`,
  `GET ${PATH}/${PRIMARY_NETWORK_ID}`,
  'GET /v1/signatureAggregator/fuji/validations/x/uptime',
  'POST /v1/signatureAggregator/fuji/verify',
  'POST /v1/signatureAggregator/fuji/decode',
];

const PAST: AnswerPast = {
  last: { outcome: 'refused', ageMs: 1.4 },
  lastRefusal: { code: 3, text: 'why', ageMs: 1.4 },
  latency: { count: 7, medianMs: 1.26, p99Ms: 40 },
};
const validator = (weight: bigint): ValidatorView => ({
  status: 'signable',
  reason: undefined,
  index: 1,
  weight,
  publicKeyHex: 'ab',
  nodes: [
    {
      nodeID: NODE_ID,
      obstacle: undefined,
      past: PAST,
      address: { host: '2001:db8::1', port: 9651 },
      client: { name: 'avalanchego', version: { major: 1, minor: 14, patch: 2 }, clockOffsetMs: 0 },
      funds: { validationID: 'v' as ValidationID, weight, balance: 10n ** 18n },
    },
  ],
});
const VIEW: SubnetView = {
  subnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 77n,
  totalWeight: 2n ** 60n,
  connectedWeight: 3n,
  reachableWeight: 2n,
  signableWeight: 1n,
  highestQuorumNum: 66n,
  keyless: { weight: 9n, count: 2, validators: [] },
  validators: [5n, 4n, 3n, 2n, 1n].map(validator),
};

const list: KnownSubnet[] = [
  {
    subnetID: PRIMARY_NETWORK_ID,
    isTracked: true,
    isUp: true,
    reason: undefined,
    connected: { weight: 1n, totalWeight: 2n },
  },
  { subnetID: 'x' as SubnetID, isTracked: false, isUp: false, reason: 'why', connected: undefined },
];
const asked: SubnetRequest[] = [];
let view = VIEW;
const subnets = {
  async view(request: SubnetRequest) {
    asked.push(request);
    return view;
  },
  weights: () => [],
  list: () => list,
};
const access = limitedTo(10_000);
const server = await createTestServer({ networks: [scriptedNetwork({ subnets })], access });
beforeEach(() => {
  asked.length = 0;
  view = VIEW;
});

describe('a view of a subnet', () => {
  test('has all that is known, large numbers as texts', async () => {
    const response = await server.inject(`${PATH}/${PRIMARY_NETWORK_ID}?pageSize=1`);
    const node = { nodeId: NODE_ID, isConnected: true, address: '[2001:db8::1]:9651', version: 'avalanchego/1.14.2' };
    const past = {
      lastAnswer: { outcome: 'refused', ageMs: 1 },
      lastRefusal: { code: 3, text: 'why', ageMs: 1 },
      latency: { answers: 7, medianMs: 1.3, p99Ms: 40 },
    };
    const nodes = [{ ...node, ...past, validationId: 'v', balance: '1000000000000000000' }];
    expect(response.json()).toEqual({
      subnetId: PRIMARY_NETWORK_ID,
      pChainHeight: 77,
      totalWeight: String(2n ** 60n),
      connectedWeight: '3',
      reachableWeight: '2',
      signableWeight: '1',
      highestQuorum: 66,
      withoutKey: { weight: '9', count: 2 },
      validators: [{ status: 'signable', index: 1, weight: '5', publicKey: 'ab', nodes }],
      nextPageToken: expect.any(String),
    });
  });

  test.each([
    [99, 5],
    [250, 7],
    [10_000, 25],
  ])('of %i validators costs %i units, each page of it', async (count, units) => {
    view = { ...VIEW, validators: Array.from({ length: count }, () => validator(1n)) };
    const url = `${PATH}/${PRIMARY_NETWORK_ID}?pageSize=50`;
    const before = await server.inject('/v1/signatureAggregator/fuji/subnets');
    const first = await server.inject(url);
    const second = await server.inject(`${url}&pageToken=${first.json().nextPageToken}`);
    const [start, ...left] = [before, first, second].map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(left.map((remaining) => (start ?? 0) - remaining)).toEqual([units, 2 * units]);
  });

  test('comes in pages, whose later ones ask for the height of the first', async () => {
    const weights: string[] = [];
    let query = 'pageSize=2';
    for (let pages = 0; pages < 3; pages += 1) {
      const { validators, nextPageToken } = (await server.inject(`${PATH}/${PRIMARY_NETWORK_ID}?${query}`)).json();
      weights.push(...validators.map(({ weight }: { weight: string }) => weight));
      query = `pageSize=2&pageToken=${nextPageToken}`;
      expect(nextPageToken === undefined).toBe(pages === 2);
    }
    expect(weights).toEqual(['5', '4', '3', '2', '1']);
    expect(asked.map(({ pChainHeight }) => pChainHeight)).toEqual([undefined, 77n, 77n]);
  });

  const foreign = encodePageToken({ list: 'subnets', offset: 1 });
  const ofOther = encodePageToken({ list: 'x@77', offset: 1 });
  const own = encodePageToken({ list: `${PRIMARY_NETWORK_ID}@77`, offset: 1 });
  const negative = encodePageToken({ list: 'subnets', offset: -1 });
  const OUT_OF_RANGE = /^pageSize must be an integer from 1 to 1000$/;
  test.each([
    ['/nonsense', /^subnetId must be a 32-byte ID in hex or cb58/],
    [`/${PRIMARY_NETWORK_ID}?pageSize=0`, OUT_OF_RANGE],
    [`/${PRIMARY_NETWORK_ID}?pageSize=1001`, OUT_OF_RANGE],
    ['?pageSize=1e2', OUT_OF_RANGE],
    ['?pageToken=nonsense', /^pageToken is not a token of this service/],
    [`?pageToken=${'a'.repeat(600)}`, /^pageToken is not a token of this service/],
    [`?pageToken=${negative}`, /^pageToken is not a token of this service/],
    [`?pageToken=${own}`, /^pageToken belongs to another list/],
    [`/${PRIMARY_NETWORK_ID}?pageToken=${foreign}`, /^pageToken belongs to another list/],
    [`/${PRIMARY_NETWORK_ID}?pageToken=${ofOther}`, /^pageToken belongs to another list/],
    [`/${PRIMARY_NETWORK_ID}?pageToken=${own}&pChainHeight=77`, /^pChainHeight cannot be combined with pageToken/],
    [`/${PRIMARY_NETWORK_ID}?pChainHeight=-1`, /^pChainHeight must be an integer from 0/],
    [`/${PRIMARY_NETWORK_ID}?destinationBlockchainId=`, /^destinationBlockchainId is empty/],
    [`/${PRIMARY_NETWORK_ID}?pchainheight=1`, /^pChainHeight must be written exactly so/],
    [`/${PRIMARY_NETWORK_ID}?height=1`, /^unknown parameter height; known are: pChainHeight, /],
  ])('%s is a 400 that names the parameter', async (path, message) => {
    expectError(await server.inject(PATH + path), 400, message, 'invalid_request');
    expect(asked).toEqual([]);
  });
});

test('the list of subnets has those that are up and those that are not, and why', async () => {
  const first = (await server.inject(`${PATH}?pageSize=1`)).json();
  expect(first).toEqual({
    subnets: [{ subnetId: PRIMARY_NETWORK_ID, isTracked: true, status: 'up', connectedWeight: '1', totalWeight: '2' }],
    nextPageToken: expect.any(String),
  });
  expect((await server.inject(`${PATH}?pageSize=1&pageToken=${first.nextPageToken}`)).json()).toEqual({
    subnets: [{ subnetId: 'x', isTracked: false, status: 'down', reason: 'why' }],
  });
});

test.each(ROUTES)('%s of a network that is not served is a 404', async (route) => {
  const [method, path] = route.split(' ') as ['GET' | 'POST', string];
  const url = path.replace('fuji', 'mainnet');
  expectError(await server.inject({ method, url }), 404, /^network "mainnet" is not served here/, 'unknown_network');
});
