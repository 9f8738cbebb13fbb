import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../src/lib/encoding/bytes.ts';
import { parseId, type ValidationID } from '../../src/warp/ids.ts';
import { encodeJustification } from '../../src/warp/justification.ts';
import { encodeL1Message } from '../../src/warp/l1-message.ts';
import { inMs, recordFigure } from './figures.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, expectSigned } from './warp-messages.ts';

/** The network accepts what the service signed: the P-Chain acts on it, and other chains read it. */

let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  // Each of these takes a minute: side by side, they take one. Every chain must know the L1's validators.
  const { cChainID, l1ChainID, conversionHeight, subnetID } = started;
  await Promise.all(['P', cChainID, l1ChainID].map((chain) => started.awaitEpoch(chain, conversionHeight)));
  const { apiUrl } = started.nodes[0] as NetworkNode;
  service = await startServiceProcess(started, { apiUrl, trackedSubnetIds: [subnetID] });
});

/** What is signed for an epoch must be verified in it: until then two transactions are accepted, in a second each or so. */
const EPOCH_REMAINING_MS = 12_000;

beforeEach(() => service.awaitAllConnected());

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    console.error(`the service's log before "${task.name}" failed:\n${service.logTail()}`);
});

afterAll(() => service?.[Symbol.asyncDispose]());

test('a service that tracks the L1 is ready when its validators are connected as well', async () => {
  const { subnets } = await service.readiness();
  expect(subnets).toMatchObject([
    { subnetId: PRIMARY_NETWORK_ID, status: 'up' },
    { subnetId: network().subnetID, status: 'up' },
  ]);
});

test('a validator is registered, changed and removed with messages that the service signed', async () => {
  const { subnetID, l1ChainID, l1Validators, conversionHeight } = network();
  const { nodeID, nodePOP } = network().nodes[4]!;

  /** What the validator manager says on the L1, signed for the P-Chain, which verifies at the height of its epoch. */
  const signForPChain = async (payload: string): Promise<string> => {
    const height = await network().awaitEpoch('P', conversionHeight, EPOCH_REMAINING_MS);
    const { message } = await emitMessage(network(), l1ChainID, payload);
    const answer = await service.aggregate({ message, pChainHeight: Number(height) });
    await expectSigned(network(), answer, { message, subnetID, height });
    return answer.body.signedMessage as string;
  };
  /** What the P-Chain then says, signed for the L1 by the validators it has by now. */
  const expectSaid = async (payload: string, justification?: string) => {
    const { message } = await network().onChain('pChainMessage', { payload });
    const height = await pChainHeight();
    const answer = await service.aggregate({
      message,
      ...(justification !== undefined && { justification }),
      signingSubnetId: subnetID,
      quorumPercentage: 100,
      pChainHeight: Number(height),
    });
    return expectSigned(network(), answer, { message, subnetID, height, quorum: 100 });
  };

  const inAnHour = BigInt(Math.floor(Date.now() / 1000)) + 3_600n;
  const register = { subnetID, nodeID, nodePOP, expiry: inAnHour, weight: 50n };
  const { payload, validationID } = await network().call('registerL1ValidatorPayload', register);
  const before = await pChainHeight();
  await network().onChain('registerL1Validator', {
    signedMessage: await signForPChain(payload),
    proofOfPossession: nodePOP.proofOfPossession,
    balance: 1_000_000_000n,
  });
  const registered = await pChainHeight();
  expect(await weightOf(nodeID)).toBe('50');
  const said = await expectSaid(registrationPayload(validationID, true));
  expect(said.signerIDs).toContain(nodeID);

  // An L1 message at an older height is for the validators of that height.
  const { message } = await emitMessage(network(), l1ChainID, '0x01');
  for (const [height, count] of [
    [before, l1Validators.length],
    [registered, l1Validators.length + 1],
  ] as const) {
    const answer = await service.aggregate({ message, quorumPercentage: 100, pChainHeight: Number(height) });
    const { signerIDs } = await expectSigned(network(), answer, { message, subnetID, height, quorum: 100 });
    expect(signerIDs).toHaveLength(count);
  }

  const change = { validationID, nonce: 0n, weight: 60n };
  const { payload: changePayload } = await network().call('l1ValidatorWeightPayload', change);
  await network().onChain('setL1ValidatorWeight', { signedMessage: await signForPChain(changePayload) });
  expect(await weightOf(nodeID)).toBe('60');
  await expectSaid(changePayload);

  const removal = { validationID, nonce: 1n, weight: 0n };
  const { payload: removalPayload } = await network().call('l1ValidatorWeightPayload', removal);
  await network().onChain('setL1ValidatorWeight', { signedMessage: await signForPChain(removalPayload) });
  expect(await weightOf(nodeID)).toBeUndefined();
  const justification = encodeJustification({
    kind: 'RegisterL1ValidatorMessage',
    message: parseHex(payload, 'payload'),
  });
  await expectSaid(registrationPayload(validationID, false), bytesToHex(justification));
});

test('the C-Chain reads a message of the L1', async () => {
  const { cChainID, l1ChainID, subnetID, conversionHeight } = network();
  const { message } = await emitMessage(network(), l1ChainID, '0x02c0ffee');
  const height = await network().awaitEpoch(cChainID, conversionHeight, EPOCH_REMAINING_MS);
  const answer = await service.aggregate({ message, pChainHeight: Number(height) });
  await expectSigned(network(), answer, { message, subnetID, height });
  const signedMessage = answer.body.signedMessage as string;
  const read = await network().onChain('readWarpMessage', { blockchainID: cChainID, signedMessage });
  expect(read).toMatchObject({ valid: true, sourceChainID: l1ChainID, payload: '0x02c0ffee' });
  recordFigure('L1 message, signed for the C-Chain, which read it', inMs(answer.tookMs));
});

test('the L1 reads a message and a block hash of the C-Chain and what the P-Chain says, signed by the L1', async () => {
  const { cChainID, l1ChainID, subnetID, conversionHeight, conversion } = network();
  const sent = await emitMessage(network(), cChainID, '0x03c0ffee');
  const block = await network().onChain('blockHashMessage', { blockchainID: cChainID, height: sent.blockHeight });
  const height = await network().awaitEpoch(l1ChainID, conversionHeight, EPOCH_REMAINING_MS);
  for (const [{ message, justification }, content] of [
    [
      { ...sent, justification: undefined },
      { sourceChainID: cChainID, payload: '0x03c0ffee' },
    ],
    [
      { ...block, justification: undefined },
      { sourceChainID: cChainID, blockHash: block.blockHash },
    ],
    [conversion, { sourceAddress: `0x${'00'.repeat(20)}` }],
  ] as const) {
    const answer = await service.aggregate({
      message,
      ...(justification !== undefined && { justification }),
      signingSubnetId: subnetID,
      pChainHeight: Number(height),
    });
    await expectSigned(network(), answer, { message, subnetID, height });
    const signedMessage = answer.body.signedMessage as string;
    const read = await network().onChain('readWarpMessage', { blockchainID: l1ChainID, signedMessage });
    expect(read).toMatchObject({ valid: true, ...content });
  }
});

async function pChainHeight(): Promise<bigint> {
  const { height } = await network().callApi<{ height: string }>('/ext/bc/P', 'platform.getHeight');
  return BigInt(height);
}

/** In the L1 as of now; undefined where the node is not among its validators. */
async function weightOf(nodeID: string): Promise<string | undefined> {
  const params = { subnetID: network().subnetID, height: await pChainHeight() };
  const validators = await network().callApi<Record<string, { weight: string }>>(
    '/ext/bc/P',
    'platform.getValidatorsAt',
    params,
  );
  return validators[nodeID]?.weight;
}

function registrationPayload(validationID: string, registered: boolean): string {
  const id = parseId<ValidationID>(validationID, 'validationID');
  return bytesToHex(encodeL1Message({ kind: 'L1ValidatorRegistration', validationID: id, registered }));
}
