import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFailed, test } from 'vitest';
import { openIdentity } from '../../src/p2p/identity/identity.ts';
import { startApiProxy } from './api-proxy.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import type { SeparateL1 } from './real-network.ts';
import { type Answer, isReady, type ServiceSettings, startServiceProcess } from './service-process.ts';
import { emitMessage, expectSigned } from './warp-messages.ts';

/** L1s whose validators are on no list of the primary network's: one open to all, and one to listed peers only. */

let open: SeparateL1;
let closed: SeparateL1;
/** The answer to a request for the conversion's message soon after its transaction, as tools ask for it. */
let early: Answer;
/** Identity of the service that the closed L1 admits. */
let listed: { readonly nodeID: string; readonly paths: Partial<ServiceSettings> };
const cleanup = new AsyncDisposableStack();

const network = useRealNetwork(async (started) => {
  const directory = await mkdtemp(join(tmpdir(), 'identity-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const [stakingCertPath, stakingKeyPath] = [join(directory, 'staker.crt'), join(directory, 'staker.key')];
  const { nodeID } = await openIdentity({
    certificatePath: stakingCertPath,
    privateKeyPath: stakingKeyPath,
    directory: undefined,
  });
  listed = { nodeID, paths: { stakingCertPath, stakingKeyPath } };
  open = await started.addSeparateL1({ name: 'open', evmChainID: 99_001, weights: [100n, 150n] });
  closed = await started.addSeparateL1({
    name: 'closed',
    evmChainID: 99_002,
    weights: [100n, 150n],
    allowedNodes: [nodeID],
  });
  await using service = await startServiceProcess(started, { apiUrl: (started.nodes[0] as NetworkNode).apiUrl });
  await service.awaitOpen();
  early = await service.aggregateOf(closed.conversion.txID);
});
afterAll(() => cleanup.disposeAsync());

const READY_TIMEOUT_MS = 60_000;

/** A service that is configured with one node and no peers, so that it finds all others through gossip. */
async function startService(settings: Partial<ServiceSettings> = {}) {
  await using stack = new AsyncDisposableStack();
  const { apiUrl } = network().nodes[0] as NetworkNode;
  const api = stack.use(await startApiProxy(apiUrl, { 'info.peers': { numPeers: '0', peers: [] } }));
  const service = stack.use(await startServiceProcess(network(), { apiUrl: api.url, ...settings }));
  onTestFailed(() => console.error(`the service's log:\n${service.logTail()}`));
  await service.awaitReadiness(isReady, READY_TIMEOUT_MS);
  const started = stack.move();
  return { ...service, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

test('a conversion is 503 with Retry-After until the height that the P-Chain proposes has come to it', () => {
  expect(early).toMatchObject({ status: 503, body: { message: expect.stringContaining('has no validators at') } });
  expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('the service finds and asks the validators of both, which it did not track', async () => {
  await using service = await startService(listed.paths);
  expect((await service.readiness()).nodeId).toBe(listed.nodeID);
  for (const l1 of [open, closed]) {
    const message = await emitOn(l1, '0x01');
    const height = l1.conversionHeight;
    const answer = await service.aggregate({ message, quorumPercentage: 100, pChainHeight: Number(height) });
    const { signerIDs } = await expectSigned(network(), answer, {
      message,
      subnetID: l1.subnetID,
      height,
      quorum: 100,
    });
    expect([...signerIDs].sort()).toEqual(await validatorsOf(l1));
  }
});

test('the conversion of each, by its subnet ID and nothing else, is signed by its validators for any client', async () => {
  await using service = await startService();
  for (const { subnetID, conversion, conversionHeight: height } of [open, closed]) {
    const { message, justification } = conversion;
    const answer = await service.aggregate({ justification, quorumPercentage: 100, pChainHeight: Number(height) });
    await expectSigned(network(), answer, { message, subnetID, height, quorum: 100 });
    expect(answer.body).toMatchObject({ signingSubnetId: subnetID, signedWeight: '250', totalWeight: '250' });
  }
});

test('a service that the closed L1 does not list gets an error that says so', async () => {
  await using service = await startService();
  const ask = async (l1: SeparateL1) => {
    const message = await emitOn(l1, '0x03');
    return { message, answer: await service.aggregate({ message, pChainHeight: Number(l1.conversionHeight) }) };
  };
  const { answer } = await ask(closed);
  expect(answer).toMatchObject({
    status: 500,
    body: {
      message: expect.stringMatching(
        /signature weight is insufficient: 67\*250 > 100\*0 \(ignored by \d: .*allowedNodes/,
      ),
    },
  });

  // It is the list alone: the other L1 answers, and a frozen node is another matter.
  const { message, answer: fromOpen } = await ask(open);
  await expectSigned(network(), fromOpen, { message, subnetID: open.subnetID, height: open.conversionHeight });
  const toBeUnsigned = await emitOn(closed, '0x04');
  await Promise.all(closed.nodes.map((node) => node.freeze()));
  try {
    const frozen = await service.aggregate({ message: toBeUnsigned, pChainHeight: Number(closed.conversionHeight) });
    expect(frozen).toMatchObject({ status: 500, body: { message: expect.stringMatching(/\(no answer from \d\)$/) } });
  } finally {
    for (const node of closed.nodes) node.thaw();
  }
});

test('by the transaction, the conversion is signed at the proposed height where the API does not run the manager chain', async () => {
  const { subnetID, l1ChainID, conversion, conversionHeight } = closed;
  await network().awaitProposedHeight(conversionHeight);
  await using service = await startService();
  const answer = await service.aggregateOf(conversion.txID);
  await expectSigned(network(), answer, { message: conversion.message, subnetID });
  expect(answer.body.pChainHeight).toBeGreaterThanOrEqual(Number(conversionHeight));

  const asked = await service.aggregateOf(conversion.txID, `?destinationBlockchainId=${l1ChainID}`);
  expect(asked).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^destinationBlockchainId: the configured API cannot say in which epoch /) },
  });
});

async function emitOn({ l1ChainID, nodes }: SeparateL1, payload: string): Promise<string> {
  return (await emitMessage(network(), l1ChainID, payload, nodes)).message;
}

async function validatorsOf({ subnetID, conversionHeight }: SeparateL1): Promise<string[]> {
  const params = { subnetID, height: conversionHeight };
  return Object.keys(await network().callApi<object>('/ext/bc/P', 'platform.getValidatorsAt', params)).sort();
}
