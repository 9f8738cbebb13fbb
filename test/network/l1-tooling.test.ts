import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../src/lib/encoding/bytes.ts';
import { P_CHAIN_ID, parseId, type ValidationID } from '../../src/warp/ids.ts';
import { encodeJustification } from '../../src/warp/justification.ts';
import { encodeL1Message } from '../../src/warp/l1-message.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { L1_VALIDATOR_BALANCE, PRIMARY_NETWORK_ID, type RealNetwork } from './real-network.ts';
import { type Answer, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, expectMistake, expectSigned } from './warp-messages.ts';

/**
 * What L1 conversion tooling asks for: the P-Chain's messages by the hash of a transaction. Everything that the service
 * signs here is read, or acted on, by the chain it is for. The tests build on each other: they are the life of an L1.
 */

let service: ServiceProcess;
let storePath: string;

const startService = (started: RealNetwork) => {
  const { apiUrl } = started.nodes[0] as NetworkNode;
  return startServiceProcess(started, { apiUrl, trackedSubnetIds: [started.subnetID], storePath });
};

const network = useRealNetwork(async (started) => {
  storePath = await mkdtemp(join(tmpdir(), 'store-'));
  service = await startService(started);
  await Promise.all(['P', started.l1ChainID].map((chain) => started.awaitEpoch(chain, started.conversionHeight)));
});

beforeEach(() => service.awaitAllConnected());

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    console.error(`the service's log before "${task.name}" failed:\n${service.logTail()}`);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  if (storePath !== undefined) await rm(storePath, { recursive: true });
});

/** What is signed for an epoch must be verified in it: until then a transaction is accepted, in a second or so. */
const EPOCH_REMAINING_MS = 8_000;
const EXPIRY_TIMEOUT_MS = 60_000;
/** The view is of the proposed height, which comes half a minute later. */
const VIEW_TIMEOUT_MS = 60_000;
/** One below what is left out. */
const LOW_BALANCE = 2_047n;

/** Bytes of a SubnetToL1Conversion, with which its Warp message ends. */
const CONVERSION_LENGTH = 38;

interface Change {
  readonly txID: string;
  /** What the L1 asked the P-Chain for. */
  readonly payload: string;
  readonly validationID: string;
}
let registration: Change;
let firstChange: Change;
let removals: readonly Change[] = [];

test('a conversion', async () => {
  const { conversion } = network();
  const answer = await service.aggregateOf(conversion.txID);
  await expectRead(answer, conversion.message.slice(0, 2) + conversion.message.slice(-2 * CONVERSION_LENGTH));
});

test('a registration', async () => {
  registration = await register(network().nodes[4] as NetworkNode);
  const answer = await service.aggregateOf(registration.txID);
  await expectRead(answer, registrationPayload(registration.validationID, true));
});

test('a weight change, until it is overtaken by the next one', async () => {
  const { validationID } = registration;
  const first = await setWeight(validationID, 0n, 60n);
  const answer = await service.aggregateOf(first.txID);
  await expectRead(answer, first.payload);

  const second = await setWeight(validationID, 1n, 70n);
  expectMistake(
    await service.aggregateOf(first.txID),
    400,
    /^txHash: the weight that transaction \S+ set \(nonce 0\) was set anew since/,
  );
  await expectRead(await service.aggregateOf(second.txID), second.payload);
  firstChange = first;
});

test('the removal of a registered validator', async () => {
  const { validationID, txID } = registration;
  const removal = await setWeight(validationID, 2n, 0n);
  const answer = await service.aggregateOf(removal.txID);
  await expectRead(answer, registrationPayload(validationID, false));
  removals = [removal];

  expectMistake(
    await service.aggregateOf(txID),
    400,
    /^txHash: the L1 validator that transaction \S+ registered was removed since/,
  );
  expectMistake(
    await service.aggregateOf(firstChange.txID),
    400,
    /^txHash: the L1 validator whose weight transaction \S+ set was removed/,
  );
});

test('a validator with less than 2,048 nAVAX signs only what has no quorum without it', async () => {
  const { subnetID, conversion, l1ChainID, nodes } = network();
  const { nodeID } = nodes[1] as NetworkNode;
  const validationID = conversion.validationIDs[nodeID] as string;
  const messages: string[] = [];
  for (const payload of ['0x11', '0x12', '0x13', '0x14']) {
    messages.push((await emitMessage(network(), l1ChainID, payload)).message);
  }
  await network().onChain('disableL1Validator', { validationID });
  // It pays for less than four seconds, and counts as active until the next block.
  await network().onChain('increaseL1ValidatorBalance', { validationID, balance: LOW_BALANCE });
  const height = await pChainHeight();

  // The other three have 800 of 1,000.
  for (const [index, more] of [{}, { quorumPercentageBuffer: 33 }, { quorumPercentage: 80 }].entries()) {
    const request = { message: messages[index] as string, quorumPercentage: 67, ...more };
    for (const at of [{ pChainHeight: Number(height) }, {}, { destinationBlockchainId: P_CHAIN_ID }]) {
      const answer = await service.aggregate({ ...request, ...at });
      expect(answer).toMatchObject({ status: 201 });
      expect(answer.body.signers).not.toContain(nodeID);
    }
  }
  const [, , , last] = messages as [string, string, string, string];
  const needed = await service.aggregate({ message: last, quorumPercentage: 81, pChainHeight: Number(height) });
  await expectSigned(network(), needed, { message: last, subnetID, height, quorum: 81 });
  expect(needed.body.signers).toContain(nodeID);
  const without = await service.aggregate({ message: last, pChainHeight: Number(height) });
  expect(without.body.signers).not.toContain(nodeID);
  await network().onChain('increaseL1ValidatorBalance', { validationID, balance: L1_VALIDATOR_BALANCE });
});

test('the removal of a validator of the conversion', async () => {
  const { conversion, nodes } = network();
  const validationID = conversion.validationIDs[nodes[0]!.nodeID] as string;
  const removal = await setWeight(validationID, 0n, 0n);
  const answer = await service.aggregateOf(removal.txID);
  await expectRead(answer, registrationPayload(validationID, false));
  removals = [...removals, removal];
});

test('after a restart the removals are still found', async () => {
  expect(await service.stop()).toBe(0);
  await service[Symbol.asyncDispose]();
  service = await startService(network());
  await service.awaitAllConnected();
  expect(removals).toHaveLength(2);
  for (const { txID, validationID } of removals) {
    await expectSaid(await service.aggregateOf(txID), registrationPayload(validationID, false));
  }
});

test('a registration that expired unused, by its justification alone', async () => {
  const { subnetID } = network();
  const { nodeID, nodePOP } = network().nodes[4] as NetworkNode;
  // Later than the first failure is remembered.
  const expiry = BigInt(Math.floor(Date.now() / 1000)) + 6n;
  const unused = { subnetID, nodeID, nodePOP, expiry, weight: 50n };
  const { payload, validationID } = await network().call('registerL1ValidatorPayload', unused);
  const justification = bytesToHex(
    encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: parseHex(payload, 'payload') }),
  );
  const tooEarly = await service.aggregate({ justification });
  expect(tooEarly).toMatchObject({
    status: 500,
    body: { message: expect.stringMatching(/refused by \d: validation \S+ can be registered until \d+ \(code 14\)/) },
  });

  await awaitPChainTime(expiry);
  const { message } = await emitMessage(network(), network().l1ChainID, payload);
  const answer = await service.aggregate({ justification, destinationBlockchainId: network().l1ChainID });
  await expectRead(answer, registrationPayload(validationID, false));
  // It is at hand in other forms as well: the payload, and the Warp message that holds it.
  for (const form of [payload, message]) {
    const same = await service.aggregate({ justification: form });
    await expectSaid(same, registrationPayload(validationID, false));
  }
});

test('a validator without balance stays in the total and signs no more, until it has some again', async () => {
  const { subnetID, conversion, l1ChainID } = network();
  const { nodeID } = network().nodes[1] as NetworkNode;
  const validationID = conversion.validationIDs[nodeID] as string;
  const { message } = await emitMessage(network(), l1ChainID, '0x01');
  const signByAll = async () =>
    service.aggregate({ message, quorumPercentage: 100, pChainHeight: Number(await pChainHeight()) });
  const all = await signByAll();
  expect(all).toMatchObject({ status: 201, body: { signers: expect.arrayContaining([nodeID]) } });

  const disabled = await network().onChain('disableL1Validator', { validationID });
  const height = await pChainHeight();
  expect(await signByAll()).toMatchObject({
    status: 500,
    body: {
      message: expect.stringContaining('1 without an active BLS key'),
      details: { outcomes: { no_key: { weight: '200', count: 1 } } },
    },
  });
  const answer = await service.aggregate({ message, quorumPercentage: 67, pChainHeight: Number(height) });
  await expectSigned(network(), answer, { message, subnetID, height });
  expect(answer.body).toMatchObject({ signedWeight: '700', totalWeight: '900' });
  const readView = async () => (await fetch(`${service.url}/v1/signatureAggregator/fuji/subnets/${subnetID}`)).json();
  const inactive = { weight: '200', status: 'inactive', reason: expect.stringMatching(/balance has run out/) };
  await expect.poll(readView, { timeout: VIEW_TIMEOUT_MS }).toMatchObject({
    withoutKey: { weight: '200', count: 1 },
    validators: expect.arrayContaining([expect.objectContaining(inactive)]),
  });

  const increased = await network().onChain('increaseL1ValidatorBalance', {
    validationID,
    balance: L1_VALIDATOR_BALANCE,
  });
  expect((await signByAll()).body.signers).toEqual(all.body.signers);

  expectMistake(
    await service.aggregateOf(disabled.txID),
    400,
    /^txHash: transaction \S+ is a DisableL1ValidatorTx, which carries no Warp/,
  );
  expectMistake(
    await service.aggregateOf(increased.txID),
    400,
    /^txHash: transaction \S+ is an IncreaseL1ValidatorBalanceTx, which carries no Warp message/,
  );
});

test('what carries no message, or is not there, is 400 or 404 and says so', async () => {
  const { subnetID } = network();
  const { assetID } = await network().callApi<{ assetID: string }>('/ext/bc/X', 'avm.getAssetDescription', {
    assetID: 'AVAX',
  });
  // The IDs of subnets, blockchains and assets are those of the transactions that created them.
  for (const [txHash, status, text] of [
    [subnetID, 400, /^txHash: transaction \S+ is a CreateSubnetTx, which carries no Warp message/],
    [assetID, 400, /^txHash: \S+ is a transaction of the X-Chain, which carries no Warp message/],
    [`0x${'ab'.repeat(32)}`, 404, /^txHash: neither the P-Chain, the X-Chain, the C-Chain nor a chain of a tracked/],
  ] as const) {
    expectMistake(await service.aggregateOf(txHash), status, text);
  }
});

test('an EVM transaction, with its chain and without: each message that it sent, and what it lacks', async () => {
  const { cChainID, l1ChainID, subnetID } = network();
  for (const [blockchainID, signers] of [
    [cChainID, PRIMARY_NETWORK_ID],
    // The subnet of the L1 is tracked.
    [l1ChainID, subnetID],
  ] as const) {
    const query = `?blockchainId=${blockchainID}`;
    const expectMessage = async (message: string, txHash: string, parameters: string) => {
      const answer = await service.aggregateOf(txHash, parameters);
      const height = BigInt(answer.body.pChainHeight ?? 0);
      await expectSigned(network(), answer, { message, subnetID: signers, height });
    };
    const { message: only, txHash } = await emitMessage(network(), blockchainID, '0x2101');
    await expectMessage(only, txHash, '');
    await expectMessage(only, txHash, query);

    const [several, failed, silent] = await network().onChain('createContracts', {
      blockchainID,
      contracts: [
        { payloads: ['0x2201', '0x2202'], reverts: false },
        { payloads: ['0x2203'], reverts: true },
        { payloads: [], reverts: false },
      ],
    });
    const { messages } = several!;
    const list = await service.aggregateOf(several!.txHash, query);
    expect(list).toMatchObject({
      status: 400,
      body: { code: 'several_messages', details: { messages: messages.map(({ logIndex }) => ({ logIndex })) } },
    });
    for (const { message, logIndex } of messages)
      await expectMessage(message, several!.txHash, `${query}&logIndex=${logIndex}`);
    expectMistake(await service.aggregateOf(failed!.txHash, query), 400, /^txHash: .* failed, so it sent no message$/);
    expectMistake(await service.aggregateOf(silent!.txHash, query), 400, /^txHash: .* sent no Warp message: /);
    const unknown = await service.aggregateOf(`0x${'ab'.repeat(32)}`, query);
    expectMistake(unknown, 404, /^txHash: .* has not accepted a transaction/);
    expect(unknown.headers.get('retry-after')).toBe('2');
  }
});

test('right after a change of the set, a message is accepted as signed for the epoch, and refused as at the proposed height', async () => {
  const { subnetID, conversion, nodes } = network();
  // With an epoch that has some time left, the block of the registration does not end it; and without a block after that one it lasts.
  const added = nodes[4] as NetworkNode;
  await register(added);
  const changedAt = await pChainHeight();
  const validationID = conversion.validationIDs[nodes[3]!.nodeID] as string;
  const { payload } = await network().call('l1ValidatorWeightPayload', { validationID, nonce: 0n, weight: 450n });
  const { message } = await emitMessage(network(), network().l1ChainID, payload);
  await network().awaitProposedHeight(changedAt);

  const request = { message, quorumPercentage: 100 };
  let atProposed = await service.aggregate(request);
  // The service asks for the proposed height once a second.
  while ((atProposed.body.pChainHeight ?? 0) < changedAt) atProposed = await service.aggregate(request);
  // In the set of the epoch, a validator may still be without the balance that an earlier test gave back to it.
  const inEpoch = await service.aggregate({ message, destinationBlockchainId: P_CHAIN_ID });
  expect(inEpoch.body).toMatchObject({ pChainHeight: expect.any(Number) });
  expect(inEpoch.body.pChainHeight).toBeLessThan(Number(changedAt));
  for (const [answer, quorum] of [
    [atProposed, 100],
    [inEpoch, 67],
  ] as const) {
    const height = BigInt(answer.body.pChainHeight ?? 0);
    await expectSigned(network(), answer, { message, subnetID, height, quorum });
  }
  expect(atProposed.body.signers).toContain(added.nodeID);
  expect(inEpoch.body.signers).not.toContain(added.nodeID);

  const deliver = ({ body }: Answer) =>
    network().onChain('setL1ValidatorWeight', { signedMessage: body.signedMessage as string });
  // A refused transaction makes no block, so the epoch is still the same for the other one.
  await expect(deliver(atProposed)).rejects.toThrow('failed verifying warp messages');
  const { txID } = await deliver(inEpoch);
  expect(await service.aggregateOf(txID)).toMatchObject({ status: 201 });
});

/** The 201 to a GET: what the P-Chain is to say, signed by the L1 as the reference would have it. */
async function expectSaid(answer: Answer, payload: string): Promise<void> {
  const { subnetID } = network();
  const { message } = await network().onChain('pChainMessage', { payload });
  await expectSigned(network(), answer, { message, subnetID, height: BigInt(answer.body.pChainHeight ?? 0) });
  expect(answer.body).toMatchObject({
    signingSubnetId: subnetID,
    totalWeight: expect.stringMatching(/^\d+$/),
    signers: expect.arrayContaining([expect.stringMatching(/^NodeID-/)]),
  });
}

/** The same, and the L1 itself reads it, through its Warp precompile. */
async function expectRead(answer: Answer, payload: string): Promise<void> {
  await expectSaid(answer, payload);
  const signedMessage = answer.body.signedMessage as string;
  const read = await network().onChain('readWarpMessage', { blockchainID: network().l1ChainID, signedMessage });
  const sourceAddress = `0x${'00'.repeat(20)}`;
  expect(read).toMatchObject({ valid: true, sourceChainID: P_CHAIN_ID, sourceAddress, payload });
}

/** What the validator manager says on the L1, signed for the P-Chain. */
async function signForPChain(payload: string): Promise<string> {
  await network().awaitEpoch('P', network().conversionHeight, EPOCH_REMAINING_MS);
  const { message } = await emitMessage(network(), network().l1ChainID, payload);
  const answer = await service.aggregate({ message, destinationBlockchainId: P_CHAIN_ID });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.signedMessage as string;
}

/** Makes a node a validator of the L1 for an hour at least. */
async function register({ nodeID, nodePOP }: NetworkNode): Promise<Change> {
  const { subnetID } = network();
  const expiry = BigInt(Math.floor(Date.now() / 1000)) + 3_600n;
  const terms = { subnetID, nodeID, nodePOP, expiry, weight: 50n };
  const { payload, validationID } = await network().call('registerL1ValidatorPayload', terms);
  const { txID } = await network().onChain('registerL1Validator', {
    signedMessage: await signForPChain(payload),
    proofOfPossession: nodePOP.proofOfPossession,
    balance: L1_VALIDATOR_BALANCE,
  });
  return { txID, payload, validationID };
}

async function setWeight(validationID: string, nonce: bigint, weight: bigint): Promise<Change> {
  const { payload } = await network().call('l1ValidatorWeightPayload', { validationID, nonce, weight });
  const signedMessage = await signForPChain(payload);
  const { txID } = await network().onChain('setL1ValidatorWeight', { signedMessage });
  return { txID, payload, validationID };
}

async function pChainHeight(): Promise<bigint> {
  const { height } = await network().callApi<{ height: string }>('/ext/bc/P', 'platform.getHeight');
  return BigInt(height);
}

/** Makes P-Chain blocks until the chain's time, which is that of its last block, has come to a point. */
async function awaitPChainTime(unixSeconds: bigint): Promise<void> {
  const deadline = AbortSignal.timeout(EXPIRY_TIMEOUT_MS);
  for (;;) {
    const { timestamp } = await network().callApi<{ timestamp: string }>('/ext/bc/P', 'platform.getTimestamp');
    const remainingMs = Number(unixSeconds) * 1000 - Date.parse(timestamp);
    if (remainingMs <= 0) return;
    await delay(Math.max(0, Number(unixSeconds) * 1000 - Date.now()), undefined, { signal: deadline });
    await network().onChain('advancePChain', {});
  }
}

function registrationPayload(validationID: string, registered: boolean): string {
  const id = parseId<ValidationID>(validationID, 'validationID');
  return `0x${bytesToHex(encodeL1Message({ kind: 'L1ValidatorRegistration', validationID: id, registered }))}`;
}
