import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Avalanche } from '@avalanche-sdk/chainkit';
import { BadRequestError } from '@avalanche-sdk/chainkit/models/errors';
import { afterAll, afterEach, beforeEach, expect, onTestFailed, test } from 'vitest';
import { type ApiProxy, startApiProxy } from './api-proxy.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { pollUntil } from './poll-until.ts';
import { EMBEDDED, LOCAL, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage, expectSigned, unknownTwin } from './warp-messages.ts';

/** One process that serves two networks: that of the five nodes, whose API is behind a proxy, and one that it runs itself. */

let proxy: ApiProxy;
let service: ServiceProcess;
/** Has the NodeID of the service. */
let twin: ServiceProcess;
const opened = new AsyncDisposableStack();

const network = useRealNetwork(async (started) => {
  const { apiUrl } = started.nodes[0] as NetworkNode;
  proxy = opened.use(await startApiProxy(apiUrl));
  const directory = await mkdtemp(join(tmpdir(), 'identity-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const paths = { stakingCertPath: join(directory, 'staker.crt'), stakingKeyPath: join(directory, 'staker.key') };
  service = opened.use(await startServiceProcess(started, { ...SETTINGS(), ...paths }));
  await service.awaitAllConnected();
  twin = opened.use(await startServiceProcess(started, { apiUrl, ...paths }));
});
afterAll(() => opened.disposeAsync());
const SETTINGS = () => ({ apiUrl: proxy.url, withEmbedded: true, validatorRefreshMs: 500 });
/** Some readings of the sets. */
const NOTICED_TIMEOUT_MS = 15_000;
const IDENTITY_TIMEOUT_MS = 120_000;

beforeEach(() => Promise.all([LOCAL, EMBEDDED].map((name) => service.awaitAllConnected(name))));

afterEach(({ task }) => {
  if (task.result?.state === 'fail')
    console.error(`the service's log before "${task.name}" failed:\n${service.logTail()}`);
});

test('both are up under their names, with one identity', async () => {
  const readiness = await Promise.all([LOCAL, EMBEDDED].map((name) => service.readiness(name)));
  expect(readiness).toMatchObject([
    { httpStatus: 200, name: LOCAL, status: 'up' },
    { httpStatus: 200, name: EMBEDDED, status: 'up' },
  ]);
  expect(readiness[0]?.nodeId).toBe(readiness[1]?.nodeId);
  // A further name of the same network.
  expect(await service.readiness('fuji')).toEqual(readiness[0]);
  expect(await service.readiness('nowhere')).toMatchObject({ httpStatus: 404, code: 'unknown_network' });
  expect(await askReady(service)).toMatchObject({
    httpStatus: 200,
    status: 'up',
    networks: [
      { name: LOCAL, status: 'up' },
      { name: EMBEDDED, status: 'up' },
    ],
  });
});

test('each has its own messages signed by its own validators', async () => {
  const { message } = await emitMessage(network(), network().cChainID, '0x01');
  const [ofLocal] = await Promise.all([
    service.aggregate({ message, quorumPercentage: 100 }, LOCAL),
    expectSignedByEmbedded(service),
  ]);
  const { signerIDs } = await expectSigned(network(), ofLocal, { message, quorum: 100 });
  expect([...signerIDs].sort()).toEqual(
    network()
      .nodes.map(({ nodeID }) => nodeID)
      .sort(),
  );

  const elsewhere = await service.aggregate({ message }, EMBEDDED);
  expect(elsewhere).toMatchObject({ status: 400, body: { code: 'wrong_network' } });
});

test('the metrics of each have its name', async () => {
  const { message } = await emitMessage(network(), network().cChainID, '0x02');
  for (const [name, askForOne] of [
    [LOCAL, () => service.aggregate({ message, quorumPercentage: 100 }, LOCAL)],
    [EMBEDDED, () => expectSignedByEmbedded(service)],
  ] as const) {
    const before = await service.metric('signature_requests_total');
    await askForOne();
    const after = await service.metric('signature_requests_total');
    expect([...after.keys()].toSorted()).toEqual([`network="${EMBEDDED}"`, `network="${LOCAL}"`]);
    for (const [labels, count] of after) {
      const asked = count - (before.get(labels) ?? 0);
      if (labels === `network="${name}"`) expect(asked).toBeGreaterThanOrEqual(4);
      else expect(asked).toBe(0);
    }
  }
  const connected = await service.metric('connected_weight_ratio');
  for (const name of [LOCAL, EMBEDDED]) {
    expect([...connected].filter(([labels]) => labels.includes(`network="${name}"`))).toEqual([
      [expect.stringContaining('subnet_id="'), 1],
    ]);
  }
});

test('the public client does not retry a message that can never be signed', async () => {
  const { conversion, conversionHeight, subnetID, l1Validators } = network();
  // As its users have it: with its own retries, which go on for an hour where the answer is a 5xx.
  const { signatureAggregator } = new Avalanche({ network: 'fuji', enableTelemetry: false }).data;
  const counts = async () => ({
    asked: (await service.metric('signature_requests_total')).get(`network="${LOCAL}"`) ?? 0,
    refused:
      (await service.metric('aggregation_duration_seconds_count')).get(
        `network="${LOCAL}",outcome="signing_refused"`,
      ) ?? 0,
  });
  const before = await counts();
  const signatureAggregatorRequest = {
    // With another conversion ID than that of the subnet.
    message: unknownTwin(conversion),
    justification: conversion.justification,
    signingSubnetId: subnetID,
    pChainHeight: Number(conversionHeight),
    // So that all of them are asked at once.
    quorumPercentage: 100,
  };
  const failure = await signatureAggregator.aggregate({ signatureAggregatorRequest }, { serverURL: service.url }).then(
    () => 'it succeeded',
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(BadRequestError);
  expect(failure).toMatchObject({
    statusCode: 400,
    message: expect.stringMatching(/refused by \d: .* \(code 7\)\); no later block changes this/),
  });
  expect(await counts()).toEqual({ asked: before.asked + l1Validators.length, refused: before.refused + 1 });
});

test('while the API of one is down, its status shows it and the other is served as before', async () => {
  const embedded = await service.readiness(EMBEDDED);
  const { message } = await emitMessage(network(), network().cChainID, '0x03');
  // A height that no other test asks for, so that no set is at hand.
  const request = { message, pChainHeight: Number(network().conversionHeight) - 1 };
  await proxy.close();
  try {
    const noticed = await service.awaitReadiness(({ status }) => status !== 'up', NOTICED_TIMEOUT_MS);
    // Its validators are connected still, so what needs no new set of them is served.
    const reason = expect.stringMatching(/its validator set cannot be read anew: /);
    expect(noticed).toMatchObject({
      httpStatus: 200,
      status: 'degraded',
      reason,
      subnets: [{ status: 'up', reason }],
    });
    expect(noticed.reason).not.toContain(new URL(proxy.url).port);
    expect(await service.readiness(EMBEDDED)).toEqual(embedded);
    expect(await askReady(service)).toMatchObject({
      httpStatus: 200,
      status: 'degraded',
      networks: [{ name: LOCAL, status: 'degraded', reason }, { name: EMBEDDED }],
    });

    const [answer] = await Promise.all([service.aggregate(request, LOCAL), expectSignedByEmbedded(service)]);
    expect(answer).toMatchObject({ status: 503, body: { code: 'p_chain_unavailable' } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await proxy.open();
  }
  await service.awaitReadiness(({ status }) => status === 'up', NOTICED_TIMEOUT_MS);
  const answer = await service.aggregate(request, LOCAL);
  await expectSigned(network(), answer, { message, height: network().conversionHeight - 1n });
});

test('an API that is down at the start delays no other network, and its network opens when it returns', async () => {
  const { message } = await emitMessage(network(), network().cChainID, '0x04');
  await proxy.close();
  try {
    await using late = await startServiceProcess(network(), SETTINGS());
    onTestFailed(() => console.error(`the log of the service that started without an API:\n${late.logTail()}`));
    await late.awaitAllConnected(EMBEDDED);
    await expectSignedByEmbedded(late);
    const reason = expect.stringContaining('its info API does not answer yet');
    // The first call has three attempts with pauses between them; the other network may be up before it fails.
    const noticed = await late.awaitReadiness(({ status }) => status !== 'starting', NOTICED_TIMEOUT_MS);
    expect(noticed).toMatchObject({ httpStatus: 503, status: 'down', reason, subnets: [] });
    // The service as a whole is ready: waiting would not help, and the other network is served.
    expect(await askReady(late)).toMatchObject({
      httpStatus: 200,
      status: 'degraded',
      networks: [
        { name: LOCAL, reason },
        { name: EMBEDDED, status: 'up' },
      ],
    });
    const refused = await late.aggregate({ message }, LOCAL);
    expect(refused).toMatchObject({ status: 503, body: { code: 'network_unavailable', message: reason } });

    await proxy.open();
    // The pause before the next call of the API has grown with the time that it was closed, to half a minute at most.
    await late.awaitAllConnected(LOCAL);
    await expectSigned(network(), await late.aggregate({ message }, LOCAL), { message });
    expect(await askReady(late)).toMatchObject({ httpStatus: 200, status: 'up' });
  } finally {
    await proxy.open();
  }
});

// The last test: a node has to turn a connection away for 45 s before that counts.
test('a second process with the NodeID of the first notices by how nodes treat it, and the first stays connected', async () => {
  onTestFailed(() => console.error(`the second process's log:\n${twin.logTail()}`));
  const readiness = await pollUntil(
    () => askReady(twin),
    (now) => 'identityProblem' in now,
    IDENTITY_TIMEOUT_MS,
  );
  expect(readiness['identityProblem']).toMatch(/^5 nodes of local close our connections at once, and 0 let us in; /);
  expect(await askReady(service)).not.toHaveProperty('identityProblem');
  await service.awaitAllConnected();
});

async function askReady({ url }: ServiceProcess): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/health/ready`);
  return { ...((await response.json()) as object), httpStatus: response.status };
}

/** Has the devnet emit a message and sign it. */
async function expectSignedByEmbedded(asked: ServiceProcess): Promise<void> {
  const response = await fetch(`${asked.url}/devnet/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ count: 1 }),
  });
  const { messages } = (await response.json()) as { messages: [string] };
  const { nodeIDs } = (await (await fetch(`${asked.url}/devnet/network`)).json()) as { nodeIDs: string[] };
  const answer = await asked.aggregate({ message: messages[0], quorumPercentage: 80 }, EMBEDDED);
  expect(answer).toMatchObject({ status: 201 });
  const { signedMessage, signers = [], signedWeight, totalWeight } = answer.body;
  expect(signedMessage?.startsWith(messages[0].replace(/^0x/, ''))).toBe(true);
  expect(nodeIDs).toEqual(expect.arrayContaining([...signers]));
  expect(Number(signedWeight)).toBeGreaterThanOrEqual(0.8 * Number(totalWeight));
}
