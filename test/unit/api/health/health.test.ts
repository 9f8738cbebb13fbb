import { describe, expect, test } from 'vitest';
import { decideReadiness } from '../../../../src/api/health/health.ts';
import type { NetworkReadiness, NetworkStatus } from '../../../../src/network/network.ts';
import { PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { createTestServer, expectError, NODE_ID, scriptedNetwork, UP } from '../api-fixture.ts';

describe('decideReadiness', () => {
  test.each<[NetworkStatus[], boolean, NetworkStatus]>([
    [['up'], true, 'up'],
    [['up', 'up'], true, 'up'],
    [['degraded'], true, 'degraded'],
    [['up', 'degraded'], true, 'degraded'],
    [['up', 'down'], true, 'degraded'],
    [['degraded', 'down'], true, 'degraded'],
    [['down'], false, 'down'],
    [['down', 'down'], false, 'down'],
    [['starting'], false, 'starting'],
    [['up', 'starting'], false, 'starting'],
    [['down', 'starting'], false, 'starting'],
    [[], false, 'down'],
  ])('%j: ready %s, %s', (statuses, isReady, status) => {
    expect(
      decideReadiness(
        statuses.map((each) => ({ status: each })),
        false,
      ),
    ).toEqual({ isReady, status });
  });

  test('a stopping service is not ready', () => {
    expect(decideReadiness([{ status: 'up' }], true)).toEqual({ isReady: false, status: 'stopping' });
  });
});

const DOWN: NetworkReadiness = {
  name: 'local',
  status: 'down',
  reason: 'the primary network has too little weight connected',
  networkID: undefined,
  nodeID: undefined,
  subnets: [
    { subnetID: PRIMARY_NETWORK_ID, isUp: false, reason: 'validators not read yet', connected: undefined },
    {
      subnetID: PRIMARY_NETWORK_ID,
      isUp: false,
      reason: undefined,
      connected: { weight: 2n ** 60n, totalWeight: 2n ** 60n + 1n },
    },
  ],
};
const DOWN_BODY = {
  name: 'local',
  status: 'down',
  reason: 'the primary network has too little weight connected',
  subnets: [
    { subnetId: PRIMARY_NETWORK_ID, status: 'down', reason: 'validators not read yet' },
    {
      subnetId: PRIMARY_NETWORK_ID,
      status: 'down',
      connectedWeight: '1152921504606846976',
      totalWeight: '1152921504606846977',
    },
  ],
};
const UP_BODY = { name: 'fuji', status: 'up', networkId: 5, nodeId: NODE_ID, subnets: [] };

function serverOf(...readiness: NetworkReadiness[]) {
  return createTestServer({
    networks: readiness.map((each) =>
      scriptedNetwork({ pathNames: [each.name, `also-${each.name}`], readiness: () => each }),
    ),
  });
}

test('live while the process answers, in any state of the networks', async () => {
  const server = await serverOf(DOWN);
  const response = await server.inject('/health/live');
  expect([response.statusCode, response.body]).toEqual([200, '{"status":"up"}']);
});

test('ready says how each network is', async () => {
  const server = await serverOf(UP, DOWN);
  const response = await server.inject('/health/ready');
  expect(response.statusCode).toBe(200);
  expect(response.headers['retry-after']).toBeUndefined();
  expect(response.json()).toEqual({ status: 'degraded', networks: [UP_BODY, DOWN_BODY] });
});

test('not ready is 503 with a time to try again', async () => {
  const server = await serverOf(DOWN);
  const response = await server.inject('/health/ready');
  expect(response.statusCode).toBe(503);
  expect(response.headers['retry-after']).toBe('2');
  expect(response.json()).toEqual({ status: 'down', networks: [DOWN_BODY] });
});

test('a stopping service is live and reports that it stops', async () => {
  const state = { isStopping: () => true };
  const server = await createTestServer({ networks: [scriptedNetwork({ readiness: () => UP })], state });
  const all = await server.inject('/health/ready');
  expect([all.statusCode, all.headers['retry-after'], all.json().status]).toEqual([503, '2', 'stopping']);
  const one = await server.inject('/health/ready/fuji');
  expect([one.statusCode, one.json().status]).toEqual([503, 'stopping']);
  expect((await server.inject('/health/live')).statusCode).toBe(200);
});

test('readiness says that another process uses the identity, and what to do', async () => {
  const state = { identityProblem: () => 'another process: end it' };
  const server = await createTestServer({ networks: [scriptedNetwork({ readiness: () => UP })], state });
  const response = await server.inject('/health/ready');
  expect(response.json()).toEqual({
    status: 'up',
    identityProblem: 'another process: end it',
    networks: [UP_BODY],
  });
});

test('each network has its own path under all of its names', async () => {
  const server = await serverOf(
    UP,
    DOWN,
    { ...UP, name: 'weak', status: 'degraded' },
    { ...DOWN, name: 'new', status: 'starting' },
  );
  const ask = async (name: string) => (await server.inject(`/health/ready/${name}`)).statusCode;
  expect((await server.inject('/health/ready/also-fuji')).json()).toEqual(UP_BODY);
  expect((await server.inject('/health/ready/local')).json()).toEqual(DOWN_BODY);
  expect([await ask('fuji'), await ask('weak'), await ask('also-local'), await ask('new')]).toEqual([
    200, 200, 503, 503,
  ]);
  const served = 'fuji, also-fuji, local, also-local, weak, also-weak, new, also-new';
  expectError(
    await server.inject('/health/ready/mainnet'),
    404,
    `network "mainnet" is not served here; served: ${served}`,
    'unknown_network',
  );
});
