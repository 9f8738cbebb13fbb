import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import { openPeerNetwork, type PeerNetwork } from '../../../src/p2p/peer-network.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { openClient } from '../pchain/local-api.ts';

const SIGNAL = new AbortController().signal;
let devnet: Devnet;
let api: NodeApi;
let network: PeerNetwork;
let cleanup: AsyncDisposableStack;

beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  const logger = createLogger('silent');
  devnet = cleanup.use(await startDevnet({ validators: 5, clock: systemClock, logger }));
  const client = cleanup.use(openClient(devnet.apiUrl));
  api = createNodeApi(client, client);
  network = cleanup.use(
    openPeerNetwork({
      ...{ identity: createIdentity(), networkID: devnet.networkID, clock: systemClock, random: Math.random, logger },
      metrics: createMetrics(new Registry()),
      nodeVersion: (signal) => api.getNodeVersion(signal),
      bootstrapPeers: async (signal) => [
        { nodeID: await api.getNodeID(signal), ...(await api.getNodeIP(signal)) },
        ...(await api.getPeers(signal)),
      ],
      allowPrivateAddresses: true,
    }),
  );
  network.want('all', new Set(devnet.nodeIDs));
  await network.waitUntil(() => devnet.nodeIDs.every((nodeID) => network.isConnected(nodeID)), SIGNAL);
});
afterAll(() => cleanup.disposeAsync());

test('validators that the API does not list are found through gossip', async () => {
  expect(await api.getPeers(SIGNAL)).toHaveLength(3);
  expect(network.stats().connected).toBe(7);
});

test('a validator that returns on another port is connected again', async () => {
  const validator = devnet.validator(4);
  const { nodeID, address } = validator;
  await validator.stop();
  await network.waitUntil(() => !network.isConnected(nodeID), SIGNAL);
  await validator.start();
  expect(validator.address.port).not.toBe(address.port);
  await network.waitUntil(() => network.isConnected(nodeID), SIGNAL);
});
