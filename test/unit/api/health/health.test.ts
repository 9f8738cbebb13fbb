import { expect, test } from 'vitest';
import { decideReadiness } from '../../../../src/api/health/health.ts';
import type { NetworkReadiness, NetworkStatus } from '../../../../src/network/network.ts';
import { PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { createTestServer, expectError, NODE_ID, scriptedNetwork, UP } from '../api-fixture.ts';

test.each<[NetworkStatus[], boolean, NetworkStatus]>([
  [['up', 'up'], true, 'up'],
  [['degraded'], true, 'degraded'],
  [['up', 'down'], true, 'degraded'],
  [['degraded', 'down'], true, 'degraded'],
  [['down', 'down'], false, 'down'],
  [['up', 'starting'], false, 'starting'],
  [['down', 'starting'], false, 'starting'],
  [[], false, 'down'],
])('networks that are %j: ready %s, %s', (statuses, isReady, status) => {
  const networks = statuses.map((each) => ({ status: each }));
  expect(decideReadiness(networks, false)).toEqual({ isReady, status });
});

const reason = 'the primary network has too little weight connected';
const connected = { weight: 2n ** 60n, totalWeight: 2n ** 60n + 1n };
const DOWN: NetworkReadiness = {
  name: 'local',
  status: 'down',
  reason,
  networkID: undefined,
  nodeID: undefined,
  subnets: [
    { subnetID: PRIMARY_NETWORK_ID, isUp: false, reason: 'validators not read yet', connected: undefined },
    { subnetID: PRIMARY_NETWORK_ID, isUp: false, reason: undefined, connected },
  ],
};
const weights = { connectedWeight: '1152921504606846976', totalWeight: '1152921504606846977' };
const DOWN_BODY = {
  name: 'local',
  status: 'down',
  reason,
  subnets: [
    { subnetId: PRIMARY_NETWORK_ID, status: 'down', reason: 'validators not read yet' },
    { subnetId: PRIMARY_NETWORK_ID, status: 'down', ...weights },
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

test('ready says how each network is', async () => {
  const server = await serverOf(UP, DOWN);
  const response = await server.inject('/health/ready');
  expect(response.statusCode).toBe(200);
  expect(response.headers['retry-after']).toBeUndefined();
  expect(response.json()).toEqual({ status: 'degraded', networks: [UP_BODY, DOWN_BODY] });
});

test('not ready is 503 with a time to try again; the process is live', async () => {
  const server = await serverOf(DOWN);
  const response = await server.inject('/health/ready');
  expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '2']);
  expect(response.json()).toEqual({ status: 'down', networks: [DOWN_BODY] });
  const live = await server.inject('/health/live');
  expect([live.statusCode, live.body]).toEqual([200, '{"status":"up"}']);
});

test('a stopping service is live and reports that it stops', async () => {
  const server = await createTestServer({
    networks: [scriptedNetwork({ readiness: () => UP })],
    isStopping: () => true,
  });
  const all = await server.inject('/health/ready');
  expect([all.statusCode, all.headers['retry-after'], all.json().status]).toEqual([503, '2', 'stopping']);
  const one = await server.inject('/health/ready/fuji');
  expect([one.statusCode, one.headers['retry-after'], one.json().status]).toEqual([503, '2', 'stopping']);
  expect((await server.inject('/health/live')).statusCode).toBe(200);
});

test('readiness says that another process uses the identity, and what to do', async () => {
  const problem = 'another process: end it';
  const server = await createTestServer({ identityProblem: () => problem });
  expect((await server.inject('/health/ready')).json()).toEqual({
    status: 'up',
    identityProblem: problem,
    networks: [UP_BODY],
  });
});

test('each network has its own path under all of its names', async () => {
  const server = await serverOf(UP, DOWN, { ...UP, name: 'weak', status: 'degraded' });
  expect((await server.inject('/health/ready/also-fuji')).json()).toEqual(UP_BODY);
  expect((await server.inject('/health/ready/local')).json()).toEqual(DOWN_BODY);
  const statuses = ['fuji', 'weak', 'also-local', 'mainnet'].map((name) => server.inject(`/health/ready/${name}`));
  const [fuji, weak, local, none] = await Promise.all(statuses);
  expect([fuji, weak, local].map((response) => response?.statusCode)).toEqual([200, 200, 503]);
  expectError(none!, 404, /served: fuji, also-fuji, local, also-local, weak, also-weak$/, 'unknown_network');
});

test('OPTIONS / is answered, as the check of a load balancer is by default', async () => {
  const server = await serverOf(DOWN);
  const response = await server.inject({ method: 'OPTIONS', url: '/' });
  expect({ status: response.statusCode, allow: response.headers.allow, body: response.body }).toEqual({
    status: 204,
    allow: 'GET, HEAD, OPTIONS',
    body: '',
  });
  const preflight = { origin: 'https://bridge.example', 'access-control-request-method': 'POST' };
  const open = await createTestServer({ corsOrigins: ['*'] });
  const answer = await open.inject({ method: 'OPTIONS', url: '/', headers: preflight });
  expect(answer.headers['access-control-allow-methods']).toBe('GET, HEAD, POST');
});
