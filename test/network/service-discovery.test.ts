import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFailed, test } from 'vitest';
import { startApiProxy } from './api-proxy.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { isAllConnected, type ServiceSettings, startServiceProcess } from './service-process.ts';
import { emitMessage, expectSigned } from './warp-messages.ts';

/** How the service finds the validators, and who it is to them. */

const network = useRealNetwork();
const firstNode = () => network().nodes[0] as NetworkNode;

/** Peers of the reference aggregator took up to 18 s to come back. */
const RECONNECT_TIMEOUT_MS = 20_000;

async function startService(settings: Partial<ServiceSettings> = {}) {
  const service = await startServiceProcess(network(), { apiUrl: firstNode().apiUrl, ...settings });
  onTestFailed(() => console.error(`the service's log:\n${service.logTail()}`));
  return service;
}

/** A node's API that says of no peer where it is, so that only the node itself is known for a start. */
function startPeerlessApi() {
  return startApiProxy(firstNode().apiUrl, { 'info.peers': { numPeers: '0', peers: [] } });
}

test('with the address of one node, it finds, verifies and connects the others through gossip', async () => {
  await using api = await startPeerlessApi();
  await using service = await startService({ apiUrl: api.url });
  await service.awaitAllConnected();

  const { message } = await emitMessage(network(), network().cChainID, '0x01');
  const answer = await service.aggregate({ message, quorumPercentage: 100 });
  await expectSigned(network(), answer, { message, quorum: 100 });
});

test('a validator that comes back on another port is found there by gossip within seconds, and requests go on', async () => {
  await using api = await startPeerlessApi();
  await using service = await startService({ apiUrl: api.url });
  await service.awaitAllConnected();
  const { message } = await emitMessage(network(), network().cChainID, '0x02');
  const node = network().nodes[4] as NetworkNode;
  const portBefore = node.stakingPort;

  await node.stop();
  await service.awaitReadiness((readiness) => !isAllConnected(readiness), RECONNECT_TIMEOUT_MS);
  const connected = service.awaitReadiness(isAllConnected, RECONNECT_TIMEOUT_MS);
  const [answer, { nodeId }] = await Promise.all([
    service.aggregate({ message, quorumPercentage: 67 }),
    connected,
    node.start({ stakingPort: 0 }),
  ]);
  await expectSigned(network(), answer, { message });
  expect(node.stakingPort).not.toBe(portBefore);
  await expectPeerOf(node, nodeId);
});

test('a validator that comes back on the same port is connected again', async () => {
  await using service = await startService();
  await service.awaitAllConnected();
  const node = network().nodes[3] as NetworkNode;
  await node.stop();
  await service.awaitReadiness((readiness) => !isAllConnected(readiness), RECONNECT_TIMEOUT_MS);
  const connected = service.awaitReadiness(isAllConnected, RECONNECT_TIMEOUT_MS);
  const [{ nodeId }] = await Promise.all([connected, node.start()]);
  await expectPeerOf(node, nodeId);
});

test('the NodeID outlives a restart, and is the one by which nodes know the service', async () => {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'identity-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const paths = { stakingCertPath: join(directory, 'staker.crt'), stakingKeyPath: join(directory, 'staker.key') };

  const run = async () => {
    await using service = await startService(paths);
    const { nodeId } = await service.awaitAllConnected();
    await expectPeerOf(firstNode(), nodeId);
    expect(await service.stop()).toBe(0);
    return { nodeId, certificate: await readFile(paths.stakingCertPath, 'utf8') };
  };
  const first = await run();
  expect(await run()).toEqual(first);
});

/** A node counts us as a peer once it has read our last message of the handshake, which is after we count it as one. */
function expectPeerOf(node: NetworkNode, nodeId: string | undefined): Promise<void> {
  return expect.poll(() => peersOf(node), { timeout: RECONNECT_TIMEOUT_MS }).toContain(nodeId);
}

async function peersOf(node: NetworkNode): Promise<string[]> {
  const { peers } = await network().callApi<{ peers: { nodeID: string }[] }>('/ext/info', 'info.peers', {}, node);
  return peers.map(({ nodeID }) => nodeID);
}
