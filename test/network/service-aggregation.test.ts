import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { readCase } from '../vectors/vectors.ts';
import { type ApiProxy, startApiProxy } from './api-proxy.ts';
import { startChromium } from './chromium.ts';
import { type ConsolePage, openConsole } from './console-page.ts';
import { inMs, quantile, recordFigure } from './figures.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { isReady, type ServiceProcess, startServiceProcess } from './service-process.ts';
import type { Verification } from './testnet.ts';
import { emitMessage, emitMessages, expectMistake, expectSigned, unknownTwin } from './warp-messages.ts';

/** The service over HTTP, before five validators of equal weight: four of them are 80 %, three are 60 %. */

let proxy: ApiProxy;
let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  proxy = await startApiProxy((started.nodes[0] as NetworkNode).apiUrl);
  service = await startServiceProcess(started, { apiUrl: proxy.url });
  await service.awaitReadiness(isReady, READY_TIMEOUT_MS);
  recordFigure('service: process start to ready', inMs(performance.now() - service.startedAtMs));
});

const READY_TIMEOUT_MS = 60_000;

beforeEach(() => service.awaitAllConnected());

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    console.error(`the service's log before "${task.name}" failed:\n${service.logTail()}`);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
});

test('a C-Chain message at quorum 67, and at 100', async () => {
  const { message } = await emitMessage(network(), network().cChainID, '0x01');

  const at67 = await service.aggregate({ message, quorumPercentage: 67 });
  await expectSigned(network(), at67, { message, quorum: 67 });
  recordFigure('C-Chain message, quorum 67: first request', inMs(at67.tookMs));

  const again = await service.aggregate({ message, quorumPercentage: 67 });
  expect(again.body).toEqual(at67.body);
  recordFigure('the same again', inMs(again.tookMs));

  const at100 = await service.aggregate({ message, quorumPercentage: 100 });
  const { signerIDs } = await expectSigned(network(), at100, { message, quorum: 100 });
  expect([...signerIDs].sort()).toEqual(
    network()
      .nodes.map(({ nodeID }) => nodeID)
      .sort(),
  );
});

test('a C-Chain message at quorum 67 with a buffer of 33: all five sign', async () => {
  const { message } = await emitMessage(network(), network().cChainID, '0x02');
  const answer = await service.aggregate({ message, quorumPercentage: 67, quorumPercentageBuffer: 33 });
  const { signedWeight, totalWeight } = await expectSigned(network(), answer, { message, quorum: 100 });
  expect(signedWeight).toBe(totalWeight);
});

test('a C-Chain block hash', async () => {
  const { blockHeight } = await emitMessage(network(), network().cChainID, '0x03');
  const { message } = await network().onChain('blockHashMessage', {
    blockchainID: network().cChainID,
    height: blockHeight,
  });
  await expectSigned(network(), await service.aggregate({ message }), { message });
});

test('an L1 message, signed by the L1 by default', async () => {
  const { l1ChainID, subnetID, conversionHeight } = network();
  const { message } = await emitMessage(network(), l1ChainID, '0x04');
  await network().awaitProposedHeight(conversionHeight);
  const answer = await service.aggregate({ message });
  await expectSigned(network(), answer, { message, subnetID });
  recordFigure('L1 message, quorum 67', inMs(answer.tookMs));
});

test('a C-Chain message signed by the L1', async () => {
  const { cChainID, subnetID, conversionHeight } = network();
  const { message } = await emitMessage(network(), cChainID, '0x05');
  await network().awaitProposedHeight(conversionHeight);
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
  recordFigure('SubnetToL1Conversion, signed by the L1', inMs(answer.tookMs));

  // With no justification, or with another one, the validators refuse, and a cached signature must not stand in for them.
  const without = await service.aggregate({ ...request, justification: '0x' });
  expect(without).toMatchObject({ status: 400, body: { message: expect.stringContaining('refused by') } });
  expect(without.tookMs).toBeLessThan(3_000);
});

test('distinct messages one after the other and side by side, each once', async () => {
  const count = 30;
  const payloads = (first: number) => Array.from({ length: count }, (_, i) => `0x06${hexByte(first + i)}`);
  const apart = await emitMessages(network(), network().cChainID, payloads(0));
  const together = await emitMessages(network(), network().cChainID, payloads(count));

  const times: number[] = [];
  for (const { message } of apart) {
    const answer = await service.aggregate({ message });
    await expectSigned(network(), answer, { message });
    times.push(answer.tookMs);
  }
  times.sort((a, b) => a - b);
  recordFigure(`${count} distinct C-Chain messages, one at a time: p50`, inMs(quantile(times, 0.5)));
  recordFigure(`${count} distinct C-Chain messages, one at a time: p95`, inMs(quantile(times, 0.95)));

  const startMs = performance.now();
  const answers = await Promise.all(together.map(({ message }) => service.aggregate({ message })));
  recordFigure(`${count} distinct C-Chain messages at once: all done`, inMs(performance.now() - startMs));
  for (const [i, answer] of answers.entries()) {
    await expectSigned(network(), answer, { message: together[i]!.message });
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
    recordFigure('one of five nodes stopped, quorum 67', inMs(answer.tookMs));

    const buffered = { message: second!.message, quorumPercentage: 67, quorumPercentageBuffer: 33 };
    const bestEffort = await service.aggregate(buffered);
    await expectSigned(network(), bestEffort, { message: second!.message, quorum: 80 });
    recordFigure('one of five nodes stopped, quorum 67 and buffer 33', inMs(bestEffort.tookMs));

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
    recordFigure('one of five nodes stopped, quorum 81: fails', inMs(outOfReach.tookMs));
  } finally {
    await node.start();
  }
});

test('with one of five nodes frozen, only the first message takes longer', async () => {
  const count = 30;
  const payloads = (first: number) => Array.from({ length: count }, (_, i) => `0x09${hexByte(first + i)}`);
  const before = await emitMessages(network(), network().cChainID, payloads(0));
  const after = await emitMessages(network(), network().cChainID, payloads(count));
  const healthy: number[] = [];
  let lastSignerIDs: readonly string[] = [];
  for (const { message } of before) {
    const answer = await service.aggregate({ message });
    ({ signerIDs: lastSignerIDs } = await expectSigned(network(), answer, { message }));
    healthy.push(answer.tookMs);
  }

  // One that was asked until now, but not the one whose API the service uses.
  const node = network()
    .nodes.slice(1)
    .find(({ nodeID }) => lastSignerIDs.includes(nodeID))!;
  await node.freeze();
  try {
    const times: number[] = [];
    for (const { message } of after) {
      const answer = await service.aggregate({ message });
      const { signerIDs } = await expectSigned(network(), answer, { message });
      expect(signerIDs).not.toContain(node.nodeID);
      times.push(answer.tookMs);
    }
    const [first = Number.NaN, ...others] = times;
    const [p50, healthyP50] = [others, healthy].map((all) =>
      quantile(
        all.toSorted((a, b) => a - b),
        0.5,
      ),
    ) as [number, number];
    recordFigure(`five healthy nodes, ${count} distinct messages, one at a time: p50`, inMs(healthyP50));
    recordFigure('one of five nodes frozen: the first message', inMs(first));
    recordFigure(
      `one of five nodes frozen, ${others.length} further messages: p50`,
      `${inMs(p50)}, ${(p50 / healthyP50).toFixed(2)} times that of five healthy ones`,
    );
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
    recordFigure('two of five nodes frozen, quorum 67: fails', inMs(answer.tookMs));

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

test('with two of five nodes frozen, the console names them while the request runs, and has the others sign', async () => {
  await using browser = await startChromium();
  await using shown = await openConsole(browser, service.url, { fails: true });
  const { message } = await emitMessage(network(), network().cChainID, '0x0802');
  const frozen = network().nodes.slice(3);
  await Promise.all(frozen.map((node) => node.freeze()));
  try {
    await shown.paste(message);
    await shown.collect();
    const named = shown.page.locator('.progress-card.running .awaited');
    const [first, second] = frozen.map(({ nodeID }) => nodeID) as [string, string];
    await named.filter({ hasText: first }).filter({ hasText: second }).waitFor();
    await shown.heading('What went wrong').waitFor();
    const card = await shown.page.locator('.failure-card').innerText();
    expect(card).toContain('2 timed out');
    expect(card).toMatch(/60[.0]*\s% signed, 67[.0]*\s% is needed/);
    await shown.page.getByRole('button', { name: 'Ask for 60 %, which these validators reach' }).click();
    const verification = await verifyShown(shown, 60);
    expect(verification).toMatchObject({ failure: '', message });
    expect(verification.signerIDs).toHaveLength(3);
  } finally {
    for (const node of frozen) node.thaw();
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
    recordFigure(`message unknown to the validators (their code ${code}): fails`, inMs(answer.tookMs));
  }
});

test('a conversion that never was fails in under 3 s with the P-Chain’s code and text', async () => {
  const { conversion, conversionHeight, subnetID } = network();
  const answer = await service.aggregate({
    message: unknownTwin(conversion),
    justification: conversion.justification,
    signingSubnetId: subnetID,
    pChainHeight: Number(conversionHeight),
  });
  expect(answer).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/refused by \d: .* \(code \d+\)/) },
  });
  expect(answer.tookMs).toBeLessThan(3_000);
});

test('what the caller can mend is 400 or 404 and names the field', async () => {
  const { cChainID } = network();
  const { message } = await emitMessage(network(), cChainID, '0x0a');
  // An unsigned message: codec version (2 bytes), network ID (4), source chain (32), payload.
  const otherNetwork = `${message.slice(0, 2 + 4)}00000001${message.slice(2 + 12)}`;
  const otherChain = `${message.slice(0, 2 + 12)}${'ab'.repeat(32)}${message.slice(2 + 76)}`;
  const height = await network().callApi<{ height: string }>('/ext/bc/P', 'platform.getHeight');
  const tooHigh = Number(height.height) + 1_000;

  const cases = [
    [{ message: otherNetwork }, 400, /^message: its network ID is 1, but this network has the ID 12345$/],
    [{ message: otherChain }, 404, /^message: the P-Chain does not know its source chain/],
    [{ message, signingSubnetId: `0x${'cd'.repeat(32)}` }, 404, /^signingSubnetId: the P-Chain knows no subnet/],
    [{ message, pChainHeight: tooHigh }, 400, new RegExp(`^pChainHeight: P-Chain height ${tooHigh} is above`)],
    [{ message: `${message}00` }, 400, /^message is not a Warp message/],
    [{ message: message.slice(0, -1) }, 400, /^message/],
    [{}, 400, /^message is missing/],
    // A blockchain's ID where a subnet's belongs.
    [{ message, signingSubnetId: cChainID }, 404, /^signingSubnetId: the P-Chain knows no subnet/],
  ] as const;
  for (const [body, status, text] of cases) {
    expectMistake(await service.aggregate(body), status, text);
  }
  expect(await service.aggregate({ message }, 'nowhere')).toMatchObject({ status: 404 });
  // A subnet that has no validators at the height yet is there, and is another mistake than an unknown one.
  const early = { message, signingSubnetId: network().subnetID, pChainHeight: 1 };
  expectMistake(await service.aggregate(early), 400, /has no validators at P-Chain height 1$/);
});

test('while the P-Chain API is down the answer is 503 with Retry-After, and 201 again after', async () => {
  const { cChainID, conversionHeight } = network();
  const { message } = await emitMessage(network(), cChainID, '0x0b');
  // A height that no other test asks for, so that no set is at hand.
  const request = { message, pChainHeight: Number(conversionHeight) - 1 };
  await proxy.close();
  try {
    const answer = await service.aggregate(request);
    expect(answer).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('P-Chain API'), statusCode: 503, error: 'Service Unavailable' },
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    recordFigure('P-Chain API down: fails', inMs(answer.tookMs));
  } finally {
    await proxy.open();
  }
  const answer = await service.aggregate(request);
  await expectSigned(network(), answer, { message, subnetID: PRIMARY_NETWORK_ID, height: conversionHeight - 1n });
});

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0');
}
