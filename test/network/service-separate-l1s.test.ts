import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openIdentity } from '../../src/p2p/identity/identity.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { startPeerlessApi } from './peerless-api.ts';
import type { SeparateL1 } from './real-network.ts';
import { type Answer, isReady, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, expectSigned } from './warp-messages.ts';

/**
 * L1s whose validators are on no list of the primary network's: one open to all, and one to listed peers only. The services are configured
 * with one node and no peers, so that they find all others through gossip.
 */

let open: SeparateL1;
let closed: SeparateL1;
/** The answer to a request for the conversion's message soon after its transaction, as tools ask for it. */
let early: Answer;
/** The closed L1 lists the NodeID of the first one. */
let listed: ServiceProcess;
let unlisted: ServiceProcess;
const opened = new AsyncDisposableStack();

const network = useRealNetwork(async (started) => {
  const identityDirectory = await mkdtemp(join(tmpdir(), 'identity-'));
  opened.defer(() => rm(identityDirectory, { recursive: true }));
  const [certificatePath, privateKeyPath] = ['staker.crt', 'staker.key'].map((name) => join(identityDirectory, name));
  const { nodeID } = await openIdentity({
    certificatePath: certificatePath as string,
    privateKeyPath: privateKeyPath as string,
    directory: identityDirectory,
  });
  const api = opened.use(await startPeerlessApi((started.nodes[0] as NetworkNode).apiUrl));
  unlisted = opened.use(await startServiceProcess(started, { apiUrl: api.url }));
  listed = opened.use(await startServiceProcess(started, { apiUrl: api.url, identityDirectory }));
  await Promise.all([unlisted, listed].map((service) => service.awaitReadiness(isReady)));
  const weights = [100n, 150n];
  open = await started.addSeparateL1({ name: 'open', evmChainID: 99_001, weights });
  closed = await started.addSeparateL1({ name: 'closed', evmChainID: 99_002, weights, allowedNodes: [nodeID] });
  early = await unlisted.aggregateOf(closed.conversion.txID);
});
afterAll(() => opened.disposeAsync());

test('a conversion is 503 with Retry-After until the height that the P-Chain proposes has come to it', () => {
  expect(early).toMatchObject({ status: 503, body: { message: expect.stringContaining('has no validators at') } });
  expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('the service finds and asks the validators of both, which it did not track', async () => {
  for (const l1 of [open, closed]) {
    const { message, answer } = await askFor(listed, l1, { payload: '0x01', quorumPercentage: 100 });
    const { subnetID, conversionHeight: height, nodes } = l1;
    const { signerIDs } = await expectSigned(network(), answer, { message, subnetID, height, quorum: 100 });
    expect(signerIDs.toSorted()).toEqual(nodes.map(({ nodeID }) => nodeID).toSorted());
  }
});

test('the conversion of each, by its subnet ID and nothing else, is signed by its validators for any client', async () => {
  for (const { subnetID, conversion, conversionHeight: height } of [open, closed]) {
    const { message, justification } = conversion;
    const answer = await unlisted.aggregate({ justification, quorumPercentage: 100, pChainHeight: Number(height) });
    await expectSigned(network(), answer, { message, subnetID, height, quorum: 100 });
  }
});

test('a service that the closed L1 does not list gets an error that says so, and answers of the open one', async () => {
  const { answer: refused } = await askFor(unlisted, closed, { payload: '0x03' });
  const message = expect.stringMatching(
    /signature weight is insufficient: 67\*250 > 100\*0 \(ignored by \d: .*allowedN/,
  );
  expect(refused).toMatchObject({ status: 500, body: { message } });
  const { message: ofOpen, answer } = await askFor(unlisted, open, { payload: '0x03' });
  const { subnetID, conversionHeight: height } = open;
  await expectSigned(network(), answer, { message: ofOpen, subnetID, height });
});

test('by the transaction, the conversion is signed at the proposed height where the API does not run the manager chain', async () => {
  const { subnetID, l1ChainID, conversion, conversionHeight } = closed;
  await network().awaitProposedHeight(conversionHeight);
  const answer = await unlisted.aggregateOf(conversion.txID);
  await expectSigned(network(), answer, { message: conversion.message, subnetID });
  expect(answer.body.pChainHeight).toBeGreaterThanOrEqual(Number(conversionHeight));

  const asked = await unlisted.aggregateOf(conversion.txID, `?destinationBlockchainId=${l1ChainID}`);
  const message = expect.stringMatching(/^destinationBlockchainId: the configured API cannot say in which epoch /);
  expect(asked).toMatchObject({ status: 400, body: { message } });
});

/** Emits a message on the L1, and has a service ask its validators at the height of the conversion. */
async function askFor(
  service: ServiceProcess,
  { l1ChainID, nodes, conversionHeight }: SeparateL1,
  { payload, ...more }: { readonly payload: string; readonly quorumPercentage?: number },
) {
  const { message } = await emitMessage(network(), l1ChainID, payload, nodes);
  return { message, answer: await service.aggregate({ message, pChainHeight: Number(conversionHeight), ...more }) };
}
