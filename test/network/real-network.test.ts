import { expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';

const network = useRealNetwork();

interface ValidatorsAt {
  readonly [nodeID: string]: { readonly publicKey: string | null; readonly weight: string };
}

test('the nodes are the five validators of the primary network, and four of them the L1’s', async () => {
  const validatorsAt = (subnetID: string, height: bigint) =>
    network().callApi<ValidatorsAt>('/ext/bc/P', 'platform.getValidatorsAt', { subnetID, height });

  const primary = await validatorsAt(PRIMARY_NETWORK_ID, 0n);
  expect(Object.keys(primary).sort()).toEqual(
    network()
      .nodes.map((node) => node.nodeID)
      .sort(),
  );

  expect(await validatorsAt(network().subnetID, network().conversionHeight)).toEqual(
    Object.fromEntries(
      network().l1Validators.map(({ nodeID, nodePOP, weight }) => [
        nodeID,
        { publicKey: nodePOP.publicKey, weight: `${weight}` },
      ]),
    ),
  );
  expect(await validatorsAt(network().subnetID, network().conversionHeight - 1n)).toEqual({});
});

test('the C-Chain and the L1 emit the messages asked for', async () => {
  for (const blockchainID of [network().cChainID, network().l1ChainID]) {
    const sent = await network().onChain('sendWarpMessages', { blockchainID, payloads: ['0x01', '0x0203'] });
    expect(sent.map(({ message }) => message)).toEqual([
      expect.stringMatching(/0000000101$/), // length and bytes
      expect.stringMatching(/000000020203$/),
    ]);
    const { blockHash, blockHeight } = sent[0] as (typeof sent)[0];
    const block = await network().onChain('blockHashMessage', { blockchainID, height: blockHeight });
    expect(block.blockHash).toBe(blockHash);
    expect(block.message.endsWith(blockHash.slice(2))).toBe(true);
  }
});

test('a node can be stopped, started on another port and frozen', async () => {
  const node = network().nodes[4]!;
  const before = node.stakingPort;
  await node.stop();
  await expect(fetch(`${node.apiUrl}/ext/health`)).rejects.toThrow();
  await node.start({ stakingPort: 0 });
  expect(node.stakingPort).not.toBe(before);
  expect((await fetch(`${node.apiUrl}/ext/health`)).status).toBe(200);

  await node.freeze();
  await expect(fetch(`${node.apiUrl}/ext/health`, { signal: AbortSignal.timeout(500) })).rejects.toThrow(/timeout/i);
  node.thaw();
  expect((await fetch(`${node.apiUrl}/ext/health`)).status).toBe(200);
});
