import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, onTestFailed, onTestFinished, test } from 'vitest';
import type { SubnetViewBody } from '../../src/api/subnets/subnet-records.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { pollUntil } from './poll-until.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** What the service tells of an L1 whose validators are down, and the uptime that they prove. The tests build on each other. */

let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  const { apiUrl } = started.nodes[0] as NetworkNode;
  service = await startServiceProcess(started, { apiUrl, trackedSubnetIds: [started.subnetID] });
  await started.awaitEpoch(started.l1ChainID, started.conversionHeight);
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** The chain looks for new validators once a minute. */
const UPTIME_TIMEOUT_MS = 150_000;
const QUORUM = 67n;

interface Uptime {
  readonly nodeID: string;
  readonly uptimeSeconds: number;
}

/** For how long a node of the L1 has seen another one; undefined before it watches the L1's validators. */
async function uptimeSeenBy(node: NetworkNode, nodeID: string): Promise<bigint | undefined> {
  const path = `/ext/bc/${network().l1ChainID}/validators`;
  try {
    const params = { nodeIDs: [nodeID] };
    const reply = await network().callApi<{ validators: Uptime[] }>(
      path,
      'validators.getCurrentValidators',
      params,
      node,
    );
    const found = reply.validators.find((validator) => validator.nodeID === nodeID);
    return found && BigInt(found.uptimeSeconds);
  } catch {
    return undefined;
  }
}

async function get(path: string, from = service): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${from.url}/v1/signatureAggregator/fuji/${path}`, {
    signal: AbortSignal.timeout(30_000),
  });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, body };
}

/** The highest uptime that validators with the quorum's weight have seen. */
function highestOf(seen: readonly { weight: bigint; uptime: bigint }[], totalWeight: bigint): bigint {
  let weight = 0n;
  for (const each of seen.toSorted((a, b) => Number(b.uptime - a.uptime))) {
    weight += each.weight;
    if (100n * weight >= QUORUM * totalWeight) return each.uptime;
  }
  throw new Error('the quorum is out of reach');
}

test('the highest uptime that 67 % sign is found to the second, and accepted by the L1', async () => {
  onTestFailed(() => console.error(`the service's log:\n${service.logTail()}`));
  await service.awaitAllConnected();
  const { l1Validators, nodes, conversion, subnetID, l1ChainID } = network();
  const stopped = nodes[1] as NetworkNode;
  const validationID = conversion.validationIDs[stopped.nodeID] as string;
  for (const node of nodes.slice(0, 4)) {
    const seen = () => uptimeSeenBy(node, stopped.nodeID);
    await pollUntil(seen, (uptime) => uptime !== undefined, UPTIME_TIMEOUT_MS);
  }
  const rising = await get(`validations/${validationID}/uptime`);
  expect(rising, JSON.stringify(rising.body)).toMatchObject({ status: 200 });

  // From here on the figures of the others stand still, each at the moment at which that node saw it go.
  await stopped.stop();
  const others = l1Validators.map(({ weight }, i) => ({ weight, node: nodes[i] as NetworkNode }));
  const seen = await Promise.all(
    others
      .filter(({ node }) => node !== stopped)
      .map(async ({ weight, node }) => ({ weight, uptime: await steadyUptime(node, stopped.nodeID) })),
  );
  const expected = highestOf(seen, 1_000n);
  const proof = await get(`validations/${validationID}/uptime`);
  expect(proof, JSON.stringify(proof.body)).toMatchObject({
    status: 200,
    body: { validationId: validationID, blockchainId: l1ChainID, uptimeSeconds: Number(expected), totalWeight: '1000' },
  });
  await stopped.start();

  const signedMessage = proof.body['signedMessage'] as string;
  const height = BigInt(proof.body['pChainHeight'] as number);
  const verification = await network().onChain('verify', {
    signedMessage,
    subnetID,
    height,
    quorumNum: 67,
    quorumDen: 100,
  });
  expect(verification).toMatchObject({ failure: '' });
  const read = await network().onChain('readWarpMessage', { blockchainID: l1ChainID, signedMessage });
  expect(read).toMatchObject({ valid: true, sourceChainID: l1ChainID });
  expect(read.payload?.slice(-16)).toBe(expected.toString(16).padStart(16, '0'));
});

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

test('the view of an L1 whose quorum is out of reach names each missing validator with its reason, before any request', async () => {
  onTestFailed(() => console.error(`the service's log:\n${service.logTail()}`));
  const { nodes, subnetID } = network();
  const [api, second, third, fourth] = nodes as [NetworkNode, NetworkNode, NetworkNode, NetworkNode];
  await Promise.all([second.stop(), fourth.stop()]);
  onTestFinished(async () => void (await Promise.all([second.start(), fourth.start()])));

  // A service that has sent no request yet, and does not track this L1.
  await using fresh = await startServiceProcess(network(), { apiUrl: api.apiUrl });
  await fresh.awaitOpen();
  const { body } = await get(`subnets/${subnetID}`, fresh);
  const view = body as unknown as SubnetViewBody;
  expect(view).toMatchObject({
    ...{ totalWeight: '1000', signableWeight: '400', connectedWeight: '400', highestQuorum: 40 },
  });
  const found = view.validators.map(({ weight, status, reason, nodes: [node] }) => [
    ...[weight, status, node?.nodeId, reason],
  ]);
  expect(found).toEqual([
    ['400', 'unreachable', fourth.nodeID, expect.stringMatching(UNREACHABLE)],
    ['300', 'signable', third.nodeID, undefined],
    ['200', 'unreachable', second.nodeID, expect.stringMatching(UNREACHABLE)],
    ['100', 'signable', api.nodeID, undefined],
  ]);
  expect((await fresh.metric('signature_requests_total')).get('network="local"') ?? 0).toBe(0);
});

/** Reasons for a node that has ended: its port is closed, or its peers have no address of it any more. */
const UNREACHABLE = /^(connection refused|no address known)$/;
