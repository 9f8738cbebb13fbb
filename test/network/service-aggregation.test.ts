import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import { pollUntil } from './poll-until.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, emitMessages, expectMistake, expectSigned, unknownTwin } from './warp-messages.ts';

/** The service over HTTP, before five validators of equal weight. */

/** What is signed for an epoch must be verified in it: until then two transactions are accepted, in a second each or so. */
const EPOCH_REMAINING_MS = 12_000;
/** A node has to turn a connection away for 45 s before that counts. */
const IDENTITY_TIMEOUT_MS = 120_000;

const opened = new AsyncDisposableStack();
let service: ServiceProcess;
/** Has the NodeID of the service. */
let twin: ServiceProcess;

const network = useRealNetwork(async (started) => {
  const identityDirectory = await mkdtemp(join(tmpdir(), 'identity-'));
  opened.defer(() => rm(identityDirectory, { recursive: true }));
  service = opened.use(await startServiceProcess(started, { identityDirectory }));
  await service.awaitAllConnected();
  twin = opened.use(await startServiceProcess(started, { identityDirectory }));
});
beforeEach(() => service.awaitAllConnected());
afterAll(() => opened.disposeAsync());

test('a C-Chain message at quorum 67, again, at 100 and with a buffer of 33', async () => {
  const [first, second] = await emitMessages(network(), network().cChainID, ['0x01', '0x02']);
  const { message } = first!;
  const at67 = await service.aggregate({ message, quorumPercentage: 67 });
  await expectSigned(network(), at67, { message });
  expect((await service.aggregate({ message, quorumPercentage: 67 })).body).toEqual(at67.body);
  const at100 = await service.aggregate({ message, quorumPercentage: 100 });
  const { signerIDs } = await expectSigned(network(), at100, { message, quorum: 100 });
  expect(signerIDs.toSorted()).toEqual(
    network()
      .nodes.map(({ nodeID }) => nodeID)
      .toSorted(),
  );
  const buffered = { message: second!.message, quorumPercentage: 67, quorumPercentageBuffer: 33 };
  await expectSigned(network(), await service.aggregate(buffered), { message: second!.message, quorum: 100 });
});

test('a block hash, a message of the L1, and one of the C-Chain that the L1 signs', async () => {
  const { cChainID, l1ChainID, subnetID, conversionHeight } = network();
  const { message, blockHeight } = await emitMessage(network(), cChainID, '0x03');
  const block = await network().onChain('blockHashMessage', { blockchainID: cChainID, height: blockHeight });
  await expectSigned(network(), await service.aggregate({ message: block.message }), { message: block.message });

  await network().awaitProposedHeight(conversionHeight);
  const { message: ofL1 } = await emitMessage(network(), l1ChainID, '0x04');
  await expectSigned(network(), await service.aggregate({ message: ofL1 }), { message: ofL1, subnetID });
  const answer = await service.aggregate({ message, signingSubnetId: subnetID, quorumPercentage: 100 });
  const { signerIDs } = await expectSigned(network(), answer, { message, subnetID, quorum: 100 });
  expect(signerIDs).toHaveLength(network().l1Validators.length);
});

test('the P-Chain’s SubnetToL1Conversion is signed by the L1, and refused for good with another conversion', async () => {
  const { conversion, conversionHeight, subnetID } = network();
  const { message, justification } = conversion;
  const request = { message, justification, signingSubnetId: subnetID, pChainHeight: Number(conversionHeight) };
  const answer = await service.aggregate(request);
  await expectSigned(network(), answer, { message, subnetID, height: conversionHeight });

  const refused = await service.aggregate({ ...request, message: unknownTwin(conversion) });
  const reason = expect.stringMatching(/refused by \d: .* \(code 7\)\); no later block changes this/);
  expect(refused).toMatchObject({ status: 400, body: { code: 'signing_refused', message: reason } });
});

test('a message unknown to the validators fails with their code and text', async () => {
  const { cChainID: blockchainID } = network();
  const sent = await emitMessage(network(), blockchainID, '0x09');
  const block = await network().onChain('blockHashMessage', { blockchainID, height: sent.blockHeight });
  for (const [message, code, text] of [
    [unknownTwin(sent), 1, 'unknown payload type: *payload.AddressedCall'],
    [unknownTwin(block), 2, 'failed to get block '],
  ] as const) {
    const { status, body } = await service.aggregate({ message });
    const refused = { reasons: [{ code, text: expect.stringContaining(text) }] };
    expect({ status, body }).toMatchObject({ status: 500, body: { details: { outcomes: { refused } } } });
  }
});

test('what the P-Chain does not know is 400 or 404 and names the field', async () => {
  const { cChainID, subnetID } = network();
  const { message } = await emitMessage(network(), cChainID, '0x0a');
  // An unsigned message: codec version (2 bytes), network ID (4), source chain (32), payload.
  const otherChain = `${message.slice(0, 2 + 12)}${'ab'.repeat(32)}${message.slice(2 + 76)}`;
  const { height } = await network().callApi<{ height: string }>('/ext/bc/P', 'platform.getHeight');
  const tooHigh = Number(height) + 1_000;
  for (const [body, status, text] of [
    [{ message: otherChain }, 404, /^message: the P-Chain does not know its source chain/],
    [{ message, signingSubnetId: `0x${'cd'.repeat(32)}` }, 404, /^signingSubnetId: the P-Chain knows no subnet/],
    [
      { message, signingSubnetId: cChainID },
      404,
      /^signingSubnetId: .* a blockchain, which subnet 11111\w+ validates$/,
    ],
    [{ message, pChainHeight: tooHigh }, 400, new RegExp(`^pChainHeight: P-Chain height ${tooHigh} is above`)],
    [{ message, signingSubnetId: subnetID, pChainHeight: 1 }, 400, /has no validators at P-Chain height 1$/],
  ] as const) {
    expectMistake(await service.aggregate(body), status, text);
  }
});

test('the C-Chain reads a message of the L1', async () => {
  const { cChainID, l1ChainID, subnetID, conversionHeight } = network();
  const { message } = await emitMessage(network(), l1ChainID, '0x02c0ffee');
  const height = await network().awaitEpoch(cChainID, conversionHeight, EPOCH_REMAINING_MS);
  const answer = await service.aggregate({ message, pChainHeight: Number(height) });
  await expectSigned(network(), answer, { message, subnetID, height });
  const { signedMessage } = answer.body;
  const read = await network().onChain('readWarpMessage', { blockchainID: cChainID, signedMessage });
  expect(read).toMatchObject({ valid: true, sourceChainID: l1ChainID, payload: '0x02c0ffee' });
});

test('the L1 reads a message and a block hash of the C-Chain, signed by the L1', async () => {
  const { cChainID, l1ChainID, subnetID, conversionHeight } = network();
  const sent = await emitMessage(network(), cChainID, '0x03c0ffee');
  const block = await network().onChain('blockHashMessage', { blockchainID: cChainID, height: sent.blockHeight });
  const height = await network().awaitEpoch(l1ChainID, conversionHeight, EPOCH_REMAINING_MS);
  for (const [message, content] of [
    [sent.message, { payload: '0x03c0ffee' }],
    [block.message, { blockHash: block.blockHash }],
  ] as const) {
    const answer = await service.aggregate({ message, signingSubnetId: subnetID, pChainHeight: Number(height) });
    await expectSigned(network(), answer, { message, subnetID, height });
    const { signedMessage } = answer.body;
    const read = await network().onChain('readWarpMessage', { blockchainID: l1ChainID, signedMessage });
    expect(read).toMatchObject({ valid: true, sourceChainID: cChainID, ...content });
  }
});

test('a second process with the NodeID of the first notices by how nodes treat it, and the first stays connected', async () => {
  const problemOf = async ({ url }: ServiceProcess) => {
    const readiness = (await (await fetch(`${url}/health/ready`)).json()) as { readonly identityProblem?: string };
    return readiness.identityProblem;
  };
  const problem = await pollUntil(
    () => problemOf(twin),
    (found) => found !== undefined,
    IDENTITY_TIMEOUT_MS,
  );
  expect(problem).toMatch(/^5 nodes of local close our connections at once, and 0 let us in; /);
  expect(await problemOf(service)).toBeUndefined();
});
