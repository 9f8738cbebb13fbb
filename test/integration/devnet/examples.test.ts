import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nobleBackend } from '../../../src/bls/backends/noble-backend.ts';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import type { AppOutcome } from '../../../src/p2p/connection/app-requests.ts';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import { PeerNetwork } from '../../../src/p2p/peer-network.ts';
import { JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { isQuorumReached } from '../../../src/validators/quorum.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { type NodeID, parseId, type SubnetID } from '../../../src/warp/ids.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../../../src/warp/signature-request.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';

// The examples, asked of all validators as the aggregator asks: through gossip from one node's API, over TLS.

const SIGNAL = new AbortController().signal;
let devnet: Devnet;
let api: NodeApi;
let network: PeerNetwork;
let cleanup: AsyncDisposableStack;

beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  const logger = createLogger('silent');
  devnet = cleanup.use(await startDevnet({ validators: 5, clock: systemClock, logger }));
  const client = cleanup.use(
    new JsonRpcClient({
      endpoints: [{ baseUrl: devnet.apiUrl }],
      clock: systemClock,
      random: Math.random,
      metrics: createMetrics(new Registry()),
    }),
  );
  api = createNodeApi(client, client);
  network = cleanup.use(
    new PeerNetwork({
      identity: createIdentity(),
      networkID: devnet.networkID,
      clock: systemClock,
      random: Math.random,
      logger,
      metrics: createMetrics(new Registry()),
      nodeVersion: (signal) => api.getNodeVersion(signal),
      bootstrapPeers: async (signal) => [
        { nodeID: await api.getNodeID(signal), ...(await api.getNodeIP(signal)) },
        ...(await api.getPeers(signal)),
      ],
      allowPrivateAddresses: true,
    }),
  );
  network.want('all', new Set(devnet.nodeIDs));
  await connected();
});
afterAll(() => cleanup.disposeAsync());

function connected(): Promise<void> {
  return network.waitUntil(() => devnet.nodeIDs.every((nodeID) => network.isConnected(nodeID)), SIGNAL);
}

function ask(nodeID: NodeID, message: Uint8Array, justification: Uint8Array = new Uint8Array()): Promise<AppOutcome> {
  const appBytes = encodeSignatureRequest({ message, justification });
  const { sourceChainID } = parseUnsignedMessage(message);
  return network.appRequest(nodeID, sourceChainID, appBytes, { timeoutMs: 5_000, signal: SIGNAL });
}

test('not all are told by the API: the rest was found through gossip', async () => {
  const peers = await api.getPeers(SIGNAL);
  expect(peers).toHaveLength(3);
  expect(network.stats().connected).toBe(7);
});

describe('every example is signed by enough validators', () => {
  test('they are those that are promised', () => {
    expect(devnet.examples('fuji').map(({ name }) => name)).toMatchInlineSnapshot(`
      [
        "C-Chain message",
        "C-Chain message with a buffer",
        "C-Chain message signed by all",
        "C-Chain block hash",
        "L1 message",
        "L1 message at an older P-Chain height",
        "C-Chain message signed by the L1",
        "P-Chain: conversion of the L1",
        "P-Chain: registration of an L1 validator",
        "P-Chain: removal of an L1 validator of the conversion",
        "P-Chain: removal of a registered L1 validator",
        "P-Chain: weight of an L1 validator",
        "L1 message at the height of the C-Chain's epoch",
        "by justification: conversion of the L1",
        "by justification: removal of an L1 validator of the conversion",
        "by justification: expired registration of an L1 validator",
        "by transaction: ConvertSubnetToL1Tx",
        "by transaction: RegisterL1ValidatorTx",
        "by transaction: SetL1ValidatorWeightTx",
        "by transaction: SetL1ValidatorWeightTx that removes a validator of the conversion",
        "by transaction: SetL1ValidatorWeightTx that removes a registered validator",
        "by EVM transaction: C-Chain",
        "by EVM transaction: L1",
        "by EVM transaction: one of two messages",
      ]
    `);
    const path = '/v1/signatureAggregator/mainnet/aggregateSignatures';
    for (const example of devnet.examples('mainnet')) {
      if (example.method === 'POST') expect(example.path).toBe(path);
      else expect(example.path).toMatch(new RegExp(`^${path}/([1-9A-HJ-NP-Za-km-z]+|0x[0-9a-f]{64}(\\?.*)?)$`));
    }
  });

  test.each(Array.from({ length: 12 }, (_, index) => index))('example %i', async (index) => {
    const { body } = devnet.examples('fuji')[index] ?? {};
    if (body?.message === undefined) throw new Error('no such example');
    const message = parseUnsignedMessage(parseHex(body.message, 'message'));
    const subnetID = body.signingSubnetId
      ? parseId<SubnetID>(body.signingSubnetId, 'subnet')
      : await api.validatedBy(message.sourceChainID, SIGNAL);
    const height = body.pChainHeight ? BigInt(body.pChainHeight) : 'proposed';
    const set = createWarpSet(await api.getValidatorsAt(subnetID, height, SIGNAL));
    const justification = parseHex(body.justification ?? '', 'justification');
    const hashed = nobleBackend.hashToCurve(message.bytes);
    let signedWeight = 0n;
    for (const { nodeIDs, publicKey, weight } of set.validators) {
      const [nodeID] = nodeIDs;
      if (nodeID === undefined || !network.isConnected(nodeID)) continue;
      const outcome = await ask(nodeID, message.bytes, justification);
      expect(outcome.kind).toBe('response');
      if (outcome.kind !== 'response') continue;
      const signature = nobleBackend.parseSignature(parseSignatureResponse(outcome.bytes));
      expect(nobleBackend.verify(nobleBackend.parsePublicKey(publicKey), hashed, signature)).toBe(true);
      signedWeight += weight;
    }
    const quorum = (body.quorumPercentage ?? 67) + (body.quorumPercentageBuffer ?? 0);
    expect(isQuorumReached(BigInt(quorum), signedWeight, set.totalWeight)).toBe(true);
  });
});

test('new messages are signed, and each is new', async () => {
  const messages = devnet.emitMessages(50);
  expect(new Set([...messages, ...devnet.emitMessages(50)]).size).toBe(100);
  const [nodeID] = devnet.nodeIDs;
  if (nodeID === undefined) throw new Error('no node');
  expect(await ask(nodeID, parseHex(messages[49] ?? '', 'message'))).toMatchObject({ kind: 'response' });
});

test('who comes back on another port is connected again', async () => {
  const validator = devnet.validator(4);
  const { nodeID, address } = validator;
  await validator.stop();
  await network.waitUntil(() => !network.isConnected(nodeID), SIGNAL);
  await validator.start();
  expect(validator.address.port).not.toBe(address.port);
  await network.waitUntil(() => network.isConnected(nodeID), SIGNAL);
  const [message = ''] = devnet.emitMessages(1);
  expect(await ask(nodeID, parseHex(message, 'message'))).toMatchObject({ kind: 'response' });
});
