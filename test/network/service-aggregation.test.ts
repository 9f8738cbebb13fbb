import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { readCase } from '../vectors/vectors.ts';
import { startChromium } from './chromium.ts';
import { type ConsolePage, openConsole } from './console-page.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { isReady, type ServiceProcess, startServiceProcess } from './service-process.ts';
import type { Verification } from './testnet.ts';
import { emitMessage, emitMessages, expectMistake, expectSigned, unknownTwin } from './warp-messages.ts';

/** The service over HTTP, before five validators of equal weight: four of them are 80 %, three are 60 %. */

let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  const { apiUrl } = started.nodes[0] as NetworkNode;
  service = await startServiceProcess(started, { apiUrl });
  await service.awaitReadiness(isReady, READY_TIMEOUT_MS);
});

const READY_TIMEOUT_MS = 60_000;
/** What is signed for an epoch must be verified in it: until then two transactions are accepted, in a second each or so. */
const EPOCH_REMAINING_MS = 12_000;

beforeEach(() => service.awaitAllConnected());

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    console.error(`the service's log before "${task.name}" failed:\n${service.logTail()}`);
});

afterAll(() => service?.[Symbol.asyncDispose]());

test('a C-Chain message at quorum 67, again, at 100 and with a buffer of 33', async () => {
  const [first, second] = await emitMessages(network(), network().cChainID, ['0x01', '0x02']);
  const { message } = first!;
  const at67 = await service.aggregate({ message, quorumPercentage: 67 });
  await expectSigned(network(), at67, { message, quorum: 67 });
  const again = await service.aggregate({ message, quorumPercentage: 67 });
  expect(again.body).toEqual(at67.body);
  const at100 = await service.aggregate({ message, quorumPercentage: 100 });
  const { signerIDs } = await expectSigned(network(), at100, { message, quorum: 100 });
  expect(signerIDs.toSorted()).toEqual(
    network()
      .nodes.map(({ nodeID }) => nodeID)
      .sort(),
  );
  const request = { message: second!.message, quorumPercentage: 67, quorumPercentageBuffer: 33 };
  await expectSigned(network(), await service.aggregate(request), { message: second!.message, quorum: 100 });
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

test('the P-Chain’s SubnetToL1Conversion, signed by the L1', async () => {
  const { conversion, conversionHeight, subnetID } = network();
  const { message, justification } = conversion;
  const request = { message, justification, signingSubnetId: subnetID, pChainHeight: Number(conversionHeight) };
  const answer = await service.aggregate(request);
  await expectSigned(network(), answer, { message, subnetID, height: conversionHeight });

  // With no justification, or with another one, the validators refuse, and a cached signature must not stand in for them.
  const without = await service.aggregate({ ...request, justification: '0x' });
  expect(without).toMatchObject({ status: 400, body: { message: expect.stringContaining('refused by') } });
  expect(without.tookMs).toBeLessThan(3_000);
});

test('distinct messages side by side, each once', async () => {
  const payloads = Array.from({ length: 20 }, (_, index) => `0x06${hexByte(index)}`);
  const sent = await emitMessages(network(), network().cChainID, payloads);
  const answers = await Promise.all(sent.map(({ message }) => service.aggregate({ message })));
  for (const [index, answer] of answers.entries()) {
    await expectSigned(network(), answer, { message: sent[index]!.message });
  }
});

test('with one of five nodes stopped, quorum 67 succeeds, and does not wait for a buffer out of reach', async () => {
  const [first, second] = await emitMessages(network(), network().cChainID, ['0x07', '0x0701']);
  const node = network().nodes[3]!;
  await node.stop();
  try {
    const answer = await service.aggregate({ message: first!.message });
    const { signerIDs } = await expectSigned(network(), answer, { message: first!.message });
    expect(signerIDs).not.toContain(node.nodeID);

    const buffered = { message: second!.message, quorumPercentage: 67, quorumPercentageBuffer: 33 };
    const bestEffort = await service.aggregate(buffered);
    await expectSigned(network(), bestEffort, { message: second!.message, quorum: 80 });

    const outOfReach = await service.aggregate({ message: second!.message, quorumPercentage: 81 });
    expect(outOfReach).toMatchObject({
      status: 503,
      body: {
        message: expect.stringContaining('too little weight is connected'),
        statusCode: 503,
        error: 'Service Unavailable',
        details: { outcomes: { unreachable: { count: 1 } } },
      },
    });
    expect(Number(outOfReach.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await node.start();
  }
});

test('a frozen node, which signed until now, is missed in no message', async () => {
  const payloads = Array.from({ length: 6 }, (_, index) => `0x09${hexByte(index)}`);
  const [first, ...further] = await emitMessages(network(), network().cChainID, payloads);
  const healthy = await service.aggregate({ message: first!.message });
  const { signerIDs } = await expectSigned(network(), healthy, { message: first!.message });
  // Not the one whose API the service uses.
  const node = network()
    .nodes.slice(1)
    .find(({ nodeID }) => signerIDs.includes(nodeID))!;
  await node.freeze();
  try {
    for (const { message } of further) {
      const without = await expectSigned(network(), await service.aggregate({ message }), { message });
      expect(without.signerIDs).not.toContain(node.nodeID);
    }
  } finally {
    node.thaw();
  }
});

test('with two of five nodes frozen, quorum 67 fails in under 6 s and says why', async () => {
  const { message } = await emitMessage(network(), network().cChainID, '0x08');
  const frozen = network().nodes.slice(3);
  await Promise.all(frozen.map((node) => node.freeze()));
  try {
    const answer = await service.aggregate({ message });
    expect(answer).toMatchObject({
      status: 500,
      body: {
        message: expect.stringMatching(
          /^failed to collect a threshold of stake: signature weight is insufficient: 67\*\d+ > 100\*\d+ \(no answer from 2\)$/,
        ),
        statusCode: 500,
        error: 'Internal Server Error',
        details: { outcomes: { signed: { count: 3 }, timed_out: { count: 2, reasons: [{ reason: 'no_answer' }] } } },
      },
    });
    expect(answer.tookMs).toBeLessThan(6_000);

    const reachable = await service.aggregate({ message, quorumPercentage: 60 });
    await expectSigned(network(), reachable, { message, quorum: 60 });
  } finally {
    for (const node of frozen) node.thaw();
  }
});

test('the console has a log and a transaction of the nodes signed, and knows what these validators signed before', async () => {
  await using browser = await startChromium();
  await using shown = await openConsole(browser, service.url, { fails: true });
  const { cChainID, conversion, conversionHeight } = network();
  const { message, txHash } = await emitMessage(network(), cChainID, '0x0801');
  const receipt = await network().callApi<object>(`/ext/bc/${cChainID}/rpc`, 'eth_getTransactionReceipt', [txHash]);
  await shown.paste(JSON.stringify({ jsonrpc: '2.0', id: 1, result: receipt }));
  await shown.collect();
  expect(await verifyShown(shown, 67)).toMatchObject({ failure: '', message });

  await network().awaitProposedHeight(conversionHeight);
  await shown.paste(conversion.txID);
  await shown.collect();
  await shown.page.locator('.progress-card.signed').waitFor();

  // They were captured on another network of the same genesis, keys and C-Chain.
  await shown.goTo('Inspect');
  for (const name of ['c_warp_0', 'c_warp_1_q80']) {
    const { unsignedMessage, signed } = readCase(name);
    const hex = bytesToHex(signed?.signedMessage ?? new Uint8Array());
    await shown.pasteToInspect(hex);
    await shown.heading('Valid a destination accepts it').waitFor();
    const lastLetter = 2 * unsignedMessage.length - 1;
    await shown.pasteToInspect(`${hex.slice(0, lastLetter)}9${hex.slice(lastLetter + 1)}`);
    await shown.heading('Not valid wrong signature').waitFor();
  }
});

/** Has the reference implementation verify what the page shows once it is signed by the primary network. */
async function verifyShown(shown: ConsolePage, quorumNum: number): Promise<Verification> {
  await shown.heading('Signed verified').waitFor();
  const signedMessage = await shown.page.getByRole('region', { name: 'Signed message' }).innerText();
  const params = {
    signedMessage,
    subnetID: PRIMARY_NETWORK_ID,
    height: 'proposed',
    quorumNum,
    quorumDen: 100,
  } as const;
  return network().onChain('verify', params);
}

test('a message unknown to the validators fails in under 3 s with their code and text', async () => {
  const sent = await emitMessage(network(), network().cChainID, '0x09');
  const block = await network().onChain('blockHashMessage', {
    blockchainID: network().cChainID,
    height: sent.blockHeight,
  });
  const cases = [
    [unknownTwin(sent), 1, 'unknown payload type: *payload.AddressedCall'],
    [unknownTwin(block), 2, 'failed to get block '],
  ] as const;
  for (const [message, code, text] of cases) {
    const answer = await service.aggregate({ message });
    expect(answer).toMatchObject({
      status: 500,
      body: {
        message: expect.stringMatching(/^failed to collect a threshold of stake: signature weight is insufficient: /),
        details: { outcomes: { refused: { reasons: [{ code, text: expect.stringContaining(text) }] } } },
      },
    });
    expect(answer.body.message).toMatch(/\(refused by \d: /);
    expect(answer.body.message).toContain(text);
    expect(answer.body.message).toContain(`(code ${code})`);
    expect(answer.tookMs).toBeLessThan(3_000);
  }
});

test('what the caller can mend is 400 or 404 and names the field', async () => {
  const { cChainID } = network();
  const { message } = await emitMessage(network(), cChainID, '0x0a');
  // An unsigned message: codec version (2 bytes), network ID (4), source chain (32), payload.
  const otherChain = `${message.slice(0, 2 + 12)}${'ab'.repeat(32)}${message.slice(2 + 76)}`;
  const height = await network().callApi<{ height: string }>('/ext/bc/P', 'platform.getHeight');
  const tooHigh = Number(height.height) + 1_000;

  const cases = [
    [{ message: otherChain }, 404, /^message: the P-Chain does not know its source chain/],
    [{ message, signingSubnetId: `0x${'cd'.repeat(32)}` }, 404, /^signingSubnetId: the P-Chain knows no subnet/],
    [{ message, pChainHeight: tooHigh }, 400, new RegExp(`^pChainHeight: P-Chain height ${tooHigh} is above`)],
    // A blockchain's ID where a subnet's belongs.
    [{ message, signingSubnetId: cChainID }, 404, /^signingSubnetId: the P-Chain knows no subnet/],
  ] as const;
  for (const [body, status, text] of cases) {
    expectMistake(await service.aggregate(body), status, text);
  }
  // A subnet that has no validators at the height yet is there, and is another mistake than an unknown one.
  const early = { message, signingSubnetId: network().subnetID, pChainHeight: 1 };
  expectMistake(await service.aggregate(early), 400, /has no validators at P-Chain height 1$/);
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

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0');
}
