import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../src/lib/encoding/bytes.ts';
import { nodeIDFromBytes, P_CHAIN_ID, parseId, type ValidationID } from '../../src/warp/ids.ts';
import { encodeJustification } from '../../src/warp/justification.ts';
import { encodeL1Message } from '../../src/warp/l1-message.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { L1_VALIDATOR_BALANCE, PRIMARY_NETWORK_ID } from './real-network.ts';
import { type Answer, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, emitMessages, expectMistake, expectSigned } from './warp-messages.ts';

/**
 * What L1 conversion tooling asks for: the P-Chain's messages by the hash of a transaction. Everything that the service
 * signs here is read, or acted on, by the chain it is for. The tests build on each other: they are the life of an L1.
 */

let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  service = await startServiceProcess(started, { trackedSubnetIds: [started.subnetID] });
  await Promise.all(['P', started.l1ChainID].map((chain) => started.awaitEpoch(chain, started.conversionHeight)));
});
beforeEach(() => service.awaitAllConnected());
afterAll(() => service?.[Symbol.asyncDispose]());

/** Four P-Chain transactions, each of which is accepted in a second or so. */
const SEVERAL_CHANGES_MS = 24_000;
/** What is signed for an epoch must be verified in it: until then a transaction is accepted, in a second or so. */
const EPOCH_REMAINING_MS = 8_000;
const EXPIRY_TIMEOUT_MS = 60_000;
/** The view is of the proposed height, which comes half a minute later. */
const VIEW_TIMEOUT_MS = 60_000;

/** Bytes of a SubnetToL1Conversion, with which its Warp message ends. */
const CONVERSION_LENGTH = 38;

test('a conversion', async () => {
  const { conversion } = network();
  const answer = await service.aggregateOf(conversion.txID);
  await expectRead(answer, conversion.message.slice(0, 2) + conversion.message.slice(-2 * CONVERSION_LENGTH));
});

test('a registration, a weight change until it is overtaken by the next one, and the removal', async () => {
  const { txID, validationID } = await register(network().nodes[4] as NetworkNode);
  await expectRead(await service.aggregateOf(txID), registrationPayload(validationID, true));
  const first = await setWeight(validationID, 0n, 60n);
  await expectRead(await service.aggregateOf(first.txID), first.payload);
  const second = await setWeight(validationID, 1n, 70n);
  expectMistake(await service.aggregateOf(first.txID), 400, /was set anew since/);
  await expectRead(await service.aggregateOf(second.txID), second.payload);

  const removal = await setWeight(validationID, 2n, 0n);
  await expectRead(await service.aggregateOf(removal.txID), registrationPayload(validationID, false));
  expectMistake(await service.aggregateOf(txID), 400, /registered was removed since/);
  expectMistake(await service.aggregateOf(second.txID), 400, /the L1 validator whose weight .* was removed/);
});

test('the removal of a validator of the conversion', async () => {
  const { conversion, nodes } = network();
  const validationID = conversion.validationIDs[nodes[0]!.nodeID] as string;
  const removal = await setWeight(validationID, 0n, 0n);
  await expectRead(await service.aggregateOf(removal.txID), registrationPayload(validationID, false));
});

test('a registration that expired unused, by its justification alone', async () => {
  const { subnetID } = network();
  const { nodeID, nodePOP } = network().nodes[4] as NetworkNode;
  const expiry = BigInt(Math.floor(Date.now() / 1000)) + 9n;
  const unused = { subnetID, nodeID, nodePOP, expiry, weight: 50n };
  const { payload, validationID } = await network().call('registerL1ValidatorPayload', unused);
  const justification = bytesToHex(
    encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: parseHex(payload, 'payload') }),
  );
  const tooEarly = await service.aggregate({ justification });
  const refused = { reasons: [{ code: 14, text: expect.stringMatching(/ can be registered until \d+$/) }] };
  const details = { registrableUntil: Number(expiry), outcomes: { refused } };
  expect(tooEarly).toMatchObject({ status: 400, body: { code: 'registration_pending', details } });

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
  const outcomes = { no_key: { weight: '200', count: 1, reasons: [{ reason: 'inactive' }] } };
  expect(await signByAll()).toMatchObject({ status: 400, body: { code: 'quorum_unreachable', details: { outcomes } } });
  const answer = await service.aggregate({ message, quorumPercentage: 67, pChainHeight: Number(height) });
  await expectSigned(network(), answer, { message, subnetID, height });
  expect(answer.body).toMatchObject({ signedWeight: '700', totalWeight: '900' });
  const inactive = { weight: '200', status: 'inactive', reason: expect.stringMatching(/balance has run out/) };
  await expect
    .poll(async () => (await service.get(`subnets/${subnetID}`)).body, { timeout: VIEW_TIMEOUT_MS })
    .toMatchObject({ validators: expect.arrayContaining([expect.objectContaining(inactive)]) });

  await network().onChain('increaseL1ValidatorBalance', { validationID, balance: L1_VALIDATOR_BALANCE });
  expect((await signByAll()).body.signers).toEqual(all.body.signers);
  expectMistake(await service.aggregateOf(disabled.txID), 400, /DisableL1ValidatorTx, which carries no Warp message/);
});

test('what carries no message, or is not there, is 400 or 404 and says so', async () => {
  const params = { assetID: 'AVAX' };
  const { assetID } = await network().callApi<typeof params>('/ext/bc/X', 'avm.getAssetDescription', params);
  // The IDs of subnets and assets are those of the transactions that created them.
  for (const [txHash, status, text] of [
    [network().subnetID, 400, /is a CreateSubnetTx, which carries no Warp message/],
    [assetID, 400, /is a transaction of the X-Chain, which carries no Warp message/],
    [`0x${'ab'.repeat(32)}`, 404, /neither the P-Chain, the X-Chain, the C-Chain nor a chain of a tracked/],
  ] as const) {
    expectMistake(await service.aggregateOf(txHash), status, text);
  }
});

test('each message of an EVM transaction, with its chain and without', async () => {
  const { cChainID, l1ChainID, subnetID: trackedSubnetID } = network();
  for (const [blockchainID, subnetID] of [
    [cChainID, PRIMARY_NETWORK_ID],
    [l1ChainID, trackedSubnetID],
  ] as const) {
    const query = `?blockchainId=${blockchainID}`;
    const expectMessage = async (message: string, txHash: string, parameters: string) => {
      const answer = await service.aggregateOf(txHash, parameters);
      await expectSigned(network(), answer, { message, subnetID, height: BigInt(answer.body.pChainHeight) });
    };
    const { message: only, txHash } = await emitMessage(network(), blockchainID, '0x2101');
    await expectMessage(only, txHash, '');
    await expectMessage(only, txHash, query);

    const payloads = ['0x2201', '0x2202'];
    const several = await network().onChain('createContract', { blockchainID, payloads });
    const messages = several.messages.map(({ logIndex }) => ({ logIndex }));
    const list = await service.aggregateOf(several.txHash, query);
    expect(list).toMatchObject({ status: 400, body: { code: 'several_messages', details: { messages } } });
    for (const { message, logIndex } of several.messages)
      await expectMessage(message, several.txHash, `${query}&logIndex=${logIndex}`);
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

  const settings = { trackedSubnetIds: [subnetID], network: { pChainMessages: 'proposed' } };
  await using proposing = await startServiceProcess(network(), settings);
  await proposing.awaitAllConnected();
  const atProposed = await proposing.aggregate({ message, quorumPercentage: 100 });
  expect(atProposed).toMatchObject({
    status: 201,
    body: { pChainHeight: Number(changedAt), warnings: [{ code: 'set_differs_from_epoch' }] },
  });
  // In the set of the epoch, a validator may still be without the balance that an earlier test gave back to it.
  const inEpoch = await service.aggregate({ message, destinationBlockchainId: P_CHAIN_ID });
  expect(inEpoch.body.pChainHeight).toBeLessThan(Number(changedAt));
  for (const [answer, quorum] of [
    [atProposed, 100],
    [inEpoch, 67],
  ] as const) {
    const height = BigInt(answer.body.pChainHeight);
    await expectSigned(network(), answer, { message, subnetID, height, quorum });
  }
  expect(atProposed.body.signers).toContain(added.nodeID);
  expect(inEpoch.body.signers).not.toContain(added.nodeID);

  const deliver = ({ body: { signedMessage } }: Answer) => network().onChain('setL1ValidatorWeight', { signedMessage });
  // A refused transaction makes no block, so the epoch is still the same for the other one.
  await expect(deliver(atProposed)).rejects.toThrow('failed verifying warp messages');
  const { txID } = await deliver(inEpoch);
  expect(await service.aggregateOf(txID)).toMatchObject({ status: 201 });
});

test('within one epoch, two registrations, a weight change and a removal are accepted as signed', async () => {
  const { subnetID, l1ChainID, conversion, conversionHeight, nodes } = network();
  // Nobody runs these two nodes. The first has most of the weight afterwards.
  const { nodePOP } = nodes[4] as NetworkNode;
  const expiry = BigInt(Math.floor(Date.now() / 1000)) + 72_000n;
  const [heavy, light] = await Promise.all(
    [5_000n, 50n].map((weight) => {
      const nodeID = nodeIDFromBytes(randomBytes(20));
      return network().call('registerL1ValidatorPayload', { subnetID, nodeID, nodePOP, expiry, weight });
    }),
  );
  const changed = conversion.validationIDs[nodes[2]!.nodeID] as string;
  const payloads = [
    heavy!.payload,
    light!.payload,
    await weightPayload(changed, 0n, 310n),
    await weightPayload(light!.validationID, 0n, 0n),
  ];
  const sent = await emitMessages(network(), l1ChainID, payloads);
  const sign = (index: number): Promise<Answer> =>
    service.aggregateOf(sent[index]!.txHash, `?blockchainId=${l1ChainID}`);
  const deliver = async (index: number, { status, body }: Answer): Promise<void> => {
    expect({ status, warnings: body.warnings }).toEqual({ status: 201, warnings: undefined });
    const { signedMessage } = body;
    const { proofOfPossession } = nodePOP;
    const registration = { signedMessage, proofOfPossession, balance: L1_VALIDATOR_BALANCE };
    if (index < 2) await network().onChain('registerL1Validator', registration);
    else await network().onChain('setL1ValidatorWeight', { signedMessage });
  };

  await network().awaitEpoch('P', conversionHeight, SEVERAL_CHANGES_MS);
  const heights = new Set<number>();
  for (const index of [0, 1, 2, 3]) {
    const answer = await sign(index);
    await deliver(index, answer);
    heights.add(answer.body.pChainHeight);
  }
  expect(heights.size).toBe(1);
});

async function weightPayload(validationID: string, nonce: bigint, weight: bigint): Promise<string> {
  return (await network().call('l1ValidatorWeightPayload', { validationID, nonce, weight })).payload;
}

/** The 201 to a GET: what the P-Chain is to say, signed by the L1 as the reference would have it. */
async function expectSaid(answer: Answer, payload: string): Promise<void> {
  const { subnetID } = network();
  const { message } = await network().onChain('pChainMessage', { payload });
  await expectSigned(network(), answer, { message, subnetID, height: BigInt(answer.body.pChainHeight) });
}

/** The same, and the L1 itself reads it, through its Warp precompile. */
async function expectRead(answer: Answer, payload: string): Promise<void> {
  await expectSaid(answer, payload);
  const { signedMessage } = answer.body;
  const read = await network().onChain('readWarpMessage', { blockchainID: network().l1ChainID, signedMessage });
  const sourceAddress = `0x${'00'.repeat(20)}`;
  expect(read).toMatchObject({ valid: true, sourceChainID: P_CHAIN_ID, sourceAddress, payload });
}

interface Change {
  readonly txID: string;
  /** What the L1 asked the P-Chain for. */
  readonly payload: string;
  readonly validationID: string;
}

/** What the validator manager says on the L1, signed for the P-Chain. */
async function signForPChain(payload: string): Promise<string> {
  await network().awaitEpoch('P', network().conversionHeight, EPOCH_REMAINING_MS);
  const { message } = await emitMessage(network(), network().l1ChainID, payload);
  const answer = await service.aggregate({ message, destinationBlockchainId: P_CHAIN_ID });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.signedMessage;
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
