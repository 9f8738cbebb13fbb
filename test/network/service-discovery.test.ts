import { expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { startPeerlessApi } from './peerless-api.ts';
import { isAllConnected, startServiceProcess } from './service-process.ts';
import { emitMessage, expectSigned } from './warp-messages.ts';

/** How the service finds the validators. */

const network = useRealNetwork();

const PEER_TIMEOUT_MS = 20_000;

test('with the address of one node, the others are found through gossip, also one that comes back on another port', async () => {
  await using api = await startPeerlessApi((network().nodes[0] as NetworkNode).apiUrl);
  await using service = await startServiceProcess(network(), { apiUrl: api.url });
  await service.awaitAllConnected();
  const { message } = await emitMessage(network(), network().cChainID, '0x01');
  await expectSigned(network(), await service.aggregate({ message, quorumPercentage: 100 }), { message, quorum: 100 });

  const node = network().nodes[4] as NetworkNode;
  const portBefore = node.stakingPort;
  const { message: meanwhile } = await emitMessage(network(), network().cChainID, '0x02');
  await node.stop();
  await service.awaitReadiness((readiness) => !isAllConnected(readiness));
  const connected = service.awaitAllConnected();
  const [answer] = await Promise.all([service.aggregate({ message: meanwhile }), node.start({ stakingPort: 0 })]);
  await expectSigned(network(), answer, { message: meanwhile });
  expect(node.stakingPort).not.toBe(portBefore);
  await expectPeerOf(node, (await connected).nodeId);
});

test('a validator that comes back on the same port is connected again', async () => {
  await using service = await startServiceProcess(network());
  await service.awaitAllConnected();
  const node = network().nodes[3] as NetworkNode;
  await node.stop();
  await service.awaitReadiness((readiness) => !isAllConnected(readiness));
  const connected = service.awaitAllConnected();
  await node.start();
  await expectPeerOf(node, (await connected).nodeId);
});

/** A node counts us as a peer once it has read our last message of the handshake, which is after we count it as one. */
async function expectPeerOf(node: NetworkNode, nodeId: string | undefined): Promise<void> {
  const peersOf = async () => {
    const { peers } = await network().callApi<{ peers: { nodeID: string }[] }>('/ext/info', 'info.peers', {}, node);
    return peers.map(({ nodeID }) => nodeID);
  };
  await expect.poll(peersOf, { timeout: PEER_TIMEOUT_MS }).toContain(nodeId);
}
