import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { printBanner } from '../../../src/devnet/banner.ts';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { registerDevnetRoutes } from '../../../src/devnet/node/devnet-routes.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { nodeIDFromBytes } from '../../../src/warp/ids.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../support/fake-clock.ts';

// As the service's own server is set up: nothing is mended silently.
const server = fastify({ ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } } });
const typed = server.withTypeProvider<TypeBoxTypeProvider>();
let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ validators: 3, clock: new FakeClock(), logger: createLogger('silent') });
  registerDevnetRoutes(typed, devnet, 'fuji');
});
afterAll(async () => {
  await server.close();
  await devnet[Symbol.asyncDispose]();
});

test('lists the examples with all their fields', async () => {
  const response = await server.inject('/devnet/examples');
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual(JSON.parse(JSON.stringify(devnet.examples('fuji'))));
});

test('describes the network', async () => {
  const response = await server.inject('/devnet/network');
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual(JSON.parse(JSON.stringify(devnet.network)));
  expect(response.json()).toMatchObject({ apiUrl: devnet.apiUrl, networkID: 1337, nodeIDs: [...devnet.nodeIDs] });
});

async function emit(payload: object) {
  const response = await server.inject({ method: 'POST', url: '/devnet/messages', payload });
  return { status: response.statusCode, messages: response.json<{ messages?: Emitted[] }>().messages ?? [] };
}

interface Emitted {
  readonly messageId: string;
  readonly message: string;
  readonly transactionHash: string;
  readonly block: { readonly number: number; readonly hash: string };
}

test('emits as many new messages as asked for, each in a transaction and block of its own', async () => {
  const { status, messages } = await emit({ count: 500 });
  expect(status).toBe(200);
  for (const idOf of [
    (one: Emitted) => one.messageId,
    (one: Emitted) => one.transactionHash,
    (one: Emitted) => one.block.hash,
  ]) {
    expect(new Set(messages.map(idOf)).size).toBe(500);
  }
  const { message = '', messageId } = messages.at(-1) ?? {};
  const last = parseUnsignedMessage(parseHex(message, 'message'));
  expect(last).toMatchObject({ id: messageId, networkID: 1337, sourceChainID: devnet.subnets.primary.cChainID });
});

test.each(['C', 'L1'] as const)('emits a given payload from a given account on %s', async (chain) => {
  const [payload, sender] = ['0x0102ff', `0x${'ab'.repeat(20)}`];
  const { status, messages } = await emit({ chain, payload, sender });
  expect([status, messages.length]).toEqual([200, 1]);
  const { message = '', transactionHash = '', block } = messages[0] ?? {};
  const parsed = parseUnsignedMessage(parseHex(message, 'message'));
  expect(parsed.sourceChainID).toBe(devnet.chains[chain].blockchainID);
  expect(parseWarpPayload(parsed.payload)).toEqual({
    kind: 'AddressedCall',
    sourceAddress: parseHex(sender, 'sender'),
    payload: parseHex(payload, 'payload'),
  });
  expect(devnet.chains[chain].receipt(transactionHash)).toMatchObject({ blockHash: block?.hash, status: '0x1' });
});

test.each([
  { count: 0 },
  { count: 10_001 },
  { count: 1.5 },
  { count: '5' },
  { count: 1, more: true },
  { chain: 'X' },
  { payload: '0x1' },
  { payload: `0x${'00'.repeat(24 * 1024 + 1)}` },
  { sender: '0x01' },
])('refuses %j', async (payload) => {
  expect(await emit(payload)).toMatchObject({ status: 400 });
});

async function issue(payload: object) {
  const response = await server.inject({ method: 'POST', url: '/devnet/transactions', payload });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
}

test('issues a conversion, and names what a transaction lacks or does not take', async () => {
  const validators = devnet.nodeIDs.slice(0, 2).map((nodeId) => ({ nodeId, weight: 5 }));
  expect(await issue({ type: 'ConvertSubnetToL1Tx', validators })).toMatchObject({
    status: 200,
    body: { height: 201, acceptedInMs: 10_000, validators: [{ nodeId: expect.any(String) }, {}] },
  });
  for (const [payload, problem] of [
    [{ type: 'RegisterL1ValidatorTx' }, 'message is missing: a RegisterL1ValidatorTx needs it'],
    [{ type: 'BaseTx', balance: 1 }, 'balance is no field of a BaseTx'],
    [{ type: 'RegisterL1ValidatorTx', message: '0x00' }, /^couldn't issue tx: failed verifying warp messages: /],
  ] as const) {
    const { body } = await issue(payload);
    expect(body['message']).toEqual(expect.stringMatching(problem));
  }
});

test("sends a message as the L1's validator manager", async () => {
  const { messages } = await emit({ register: { nodeId: devnet.nodeIDs[1], weight: 7 } });
  const call = parseWarpPayload(parseUnsignedMessage(parseHex(messages[0]?.message ?? '', 'message')).payload);
  expect(call).toMatchObject({ sourceAddress: parseHex(devnet.subnets.l1.managerAddress, 'address') });
  expect(messages).toMatchObject([{ validationId: expect.any(String) }]);
});

test('the banner has the number of validators and requests to paste', () => {
  using log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const nodeID = nodeIDFromBytes(new Uint8Array(20));
  printBanner({ url: 'http://127.0.0.1:8080', nodeID, devnet, pathName: 'mainnet' });
  const text = String(log.mock.calls[0]?.[0]);
  expect(text).toContain('3 of the primary network and 2 of an L1 alone');
  expect(text).toMatch(/curl -s http:\/\/127\.0\.0\.1:8080\/v1\/signatureAggregator\/mainnet\/aggregateSignatures -H /);
});
