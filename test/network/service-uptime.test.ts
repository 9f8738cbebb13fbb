import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { pollUntil } from './poll-until.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { expectAccepted } from './warp-messages.ts';

let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  service = await startServiceProcess(started, { trackedSubnetIds: [started.subnetID] });
  await started.awaitEpoch(started.l1ChainID, started.conversionHeight);
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** The chain looks for new validators once a minute. */
const UPTIME_TIMEOUT_MS = 150_000;

/** For how long a node of the L1 has seen another one; undefined before it watches the L1's validators. */
async function uptimeSeenBy(node: NetworkNode, nodeID: string): Promise<bigint | undefined> {
  const path = `/ext/bc/${network().l1ChainID}/validators`;
  const params = { nodeIDs: [nodeID] };
  type Reply = { readonly validators: readonly { readonly uptimeSeconds: number }[] };
  const ask = network().callApi<Reply>(path, 'validators.getCurrentValidators', params, node);
  const [found] = (await ask.catch(() => undefined))?.validators ?? [];
  return found && BigInt(found.uptimeSeconds);
}

/** When it has not risen for two seconds. */
async function steadyUptime(node: NetworkNode, nodeID: string): Promise<bigint> {
  const endMs = performance.now() + UPTIME_TIMEOUT_MS;
  for (let before: bigint | undefined; ; ) {
    const now = await uptimeSeenBy(node, nodeID);
    if (now !== undefined && now === before) return now;
    if (performance.now() > endMs) throw new Error(`${node.name} has not seen ${nodeID} go`);
    before = now;
    await delay(2_000);
  }
}

test('the highest uptime that 67 % sign is found to the second, and accepted by the L1', async () => {
  await service.awaitAllConnected();
  const { nodes, conversion, subnetID, l1ChainID } = network();
  const [first, stopped, third, fourth] = nodes as [NetworkNode, NetworkNode, NetworkNode, NetworkNode];
  const validationID = conversion.validationIDs[stopped.nodeID] as string;
  for (const node of [first, stopped, third, fourth]) {
    await pollUntil(
      () => uptimeSeenBy(node, stopped.nodeID),
      (uptime) => uptime !== undefined,
      UPTIME_TIMEOUT_MS,
    );
  }
  const path = `validations/${validationID}/uptime`;
  expect(await service.get(path)).toMatchObject({ status: 200 });

  // From here on the figures of the others stand still, each at the moment at which that node saw it go.
  await stopped.stop();
  const seen = await Promise.all([first, third, fourth].map((node) => steadyUptime(node, stopped.nodeID)));
  const proof = await service.get(path);
  await stopped.start();

  // They have 100, 300 and 400 of 1,000: 67 % need the two heavier ones.
  const [, ofThird, ofFourth] = seen as [bigint, bigint, bigint];
  const expected = ofThird < ofFourth ? ofThird : ofFourth;
  expect(proof, JSON.stringify(proof.body)).toMatchObject({
    status: 200,
    body: { validationId: validationID, blockchainId: l1ChainID, uptimeSeconds: Number(expected), totalWeight: '1000' },
  });
  const { signedMessage, pChainHeight } = proof.body;
  await expectAccepted(network(), signedMessage, { subnetID, height: BigInt(pChainHeight) });
  const read = await network().onChain('readWarpMessage', { blockchainID: l1ChainID, signedMessage });
  expect(read).toMatchObject({ valid: true, sourceChainID: l1ChainID });
  expect(read.payload?.slice(-16)).toBe(expected.toString(16).padStart(16, '0'));
});
