import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { inMs, recordFigure } from './figures.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { isReady, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, unknownTwin } from './warp-messages.ts';

/** The Go aggregator's API before real nodes, with the requests of its clients; `go-reference.test.ts` covers errors. */

let service: ServiceProcess;
let goUrls: { readonly api: string };

const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 30_000;
const WARP_PRECOMPILE = '0x0200000000000000000000000000000000000005';

const network = useRealNetwork(async (started) => {
  const { apiUrl } = started.nodes[0] as NetworkNode;
  service = await startServiceProcess(started, { apiUrl, withGoPorts: true, trackedSubnetIds: [started.subnetID] });
  if (service.goUrls === undefined) throw new Error('there are no ports of the Go aggregator');
  goUrls = service.goUrls;
  await service.awaitReadiness(isReady, READY_TIMEOUT_MS);
});

beforeEach(() => service.awaitAllConnected());

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    console.error(`the service's log before "${task.name}" failed:\n${service.logTail()}`);
});

afterAll(() => service?.[Symbol.asyncDispose]());

interface GoAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
  readonly tookMs: number;
}

async function post(body: object | string, url = `${goUrls.api}/aggregate-signatures`): Promise<GoAnswer> {
  const sentMs = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  return {
    ...{ status: response.status, type: response.headers.get('content-type'), text },
    tookMs: performance.now() - sentMs,
  };
}

interface Expected {
  readonly message: string;
  readonly subnetID?: string;
  readonly height?: bigint | 'proposed';
  readonly quorum?: number;
}

/** Expects 200, the exact body `{"signed-message":"…"}`, and a message that the reference implementation accepts. */
async function expectGoSigned(answer: GoAnswer, expected: Expected): Promise<void> {
  const { message, subnetID = PRIMARY_NETWORK_ID, height = 'proposed', quorum = 67 } = expected;
  const [, signedMessage] = /^\{"signed-message":"([0-9a-f]+)"\}$/.exec(answer.text) ?? [];
  expect({ ...answer, signedMessage }).toMatchObject({ status: 200, signedMessage: expect.any(String) });
  expect(answer.type).toBe('application/json');
  const params = { signedMessage: signedMessage as string, subnetID, height, quorumNum: quorum, quorumDen: 100 };
  expect(await network().onChain('verify', params)).toMatchObject({ failure: '', message });
}

function expectGoError({ status, text }: GoAnswer, expected: number, error: RegExp): void {
  const body = JSON.parse(text) as { error?: unknown };
  expect({ status, ...body }).toEqual({ status: expected, error: expect.stringMatching(error) });
  expect(text).toBe(JSON.stringify({ error: body.error }));
}

test('each request of its clients is answered with a message that the reference accepts', async () => {
  const { cChainID, l1ChainID, subnetID, conversion, conversionHeight } = network();
  const { message } = await emitMessage(network(), cChainID, '0x01');
  const hex = message.replace(/^0x/, '');

  const first = await post({ message });
  await expectGoSigned(first, { message });
  recordFigure("the Go aggregator's API: first request, quorum 67", inMs(first.tookMs));
  await expectGoSigned(await post({ message: hex }), { message });
  const full = { message: hex, justification: '', 'signing-subnet-id': '', 'quorum-percentage': 80 };
  await expectGoSigned(await post(full), { message, quorum: 80 });
  await expectGoSigned(await post({ message, 'quorum-percentage': 67, 'quorum-percentage-buffer': 33 }), {
    message,
    quorum: 100,
  });
  await expectGoSigned(await post({ message, 'signing-subnet-id': PRIMARY_NETWORK_ID, 'not-known': [1] }), { message });

  await network().awaitProposedHeight(conversionHeight);
  const { message: ofL1 } = await emitMessage(network(), l1ChainID, '0x02');
  await expectGoSigned(await post({ message: ofL1 }), { message: ofL1, subnetID });
  for (const name of ['pchain-height', 'p-chain-height']) {
    const answer = await post({ message: ofL1, [name]: Number(conversionHeight) });
    await expectGoSigned(answer, { message: ofL1, subnetID, height: conversionHeight });
  }

  const ofPChain = {
    message: conversion.message,
    justification: conversion.justification,
    'signing-subnet-id': subnetID,
  };
  await expectGoSigned(await post(ofPChain), { message: conversion.message, subnetID });
});

test('message may be the data of the log', async () => {
  const { message, blockHeight } = await emitMessage(network(), network().cChainID, '0x03');
  const block = `0x${blockHeight.toString(16)}`;
  const logs = await network().callApi<{ readonly data: string }[]>(
    `/ext/bc/${network().cChainID}/rpc`,
    'eth_getLogs',
    [{ fromBlock: block, toBlock: block, address: WARP_PRECOMPILE }],
  );
  expect(logs).toHaveLength(1);
  expect(logs[0]?.data.length).toBeGreaterThan(message.length);
  await expectGoSigned(await post({ message: logs[0]?.data }), { message });
});

test('a message that the validators do not sign is a 500 within seconds', async () => {
  const { conversion, subnetID, cChainID } = network();
  const { message } = await emitMessage(network(), cChainID, '0x05');
  const unknown = await post({ message: unknownTwin({ message }) });
  const words =
    /^failed to aggregate signatures\. error: failed to collect a threshold of signatures: .*signature weight is insufficient/;
  expectGoError(unknown, 500, words);
  expect(unknown.tookMs).toBeLessThan(5_000);
  recordFigure("the Go aggregator's API: a message unknown to the validators", inMs(unknown.tookMs));
  const asked = { message: conversion.message, 'signing-subnet-id': subnetID };
  expectGoError(await post(asked), 400, /^failed to .*justification/);
});

test('the subnet named in camelCase or in the words of the Go SDK signs, on both APIs', async () => {
  const { cChainID, subnetID, conversionHeight } = network();
  await network().awaitProposedHeight(conversionHeight);
  const { message } = await emitMessage(network(), cChainID, '0x07');
  const sdk = { justification: '', quorumPercentage: 67, quorumPercentageBuffer: 0, pchainHeight: 0 };
  for (const fields of [
    { signingSubnetId: subnetID },
    { ...sdk, signingSubnetId: subnetID },
    { 'Signing-Subnet-Id': subnetID },
  ]) {
    await expectGoSigned(await post({ message, ...fields }), { message, subnetID });
  }
  await expectGoSigned(await post({ message, ...sdk, signingSubnetId: '' }), { message });
  for (const [named, signs] of [
    [subnetID, subnetID],
    ['', PRIMARY_NETWORK_ID],
  ] as const) {
    const { status, body } = await service.aggregate({ message, ...sdk, signingSubnetId: named });
    expect({ status, signs: body.signingSubnetId }).toEqual({ status: 201, signs });
  }
});
