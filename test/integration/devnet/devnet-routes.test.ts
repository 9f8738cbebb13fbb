import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { printBanner } from '../../../src/devnet/banner.ts';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { registerDevnetRoutes } from '../../../src/devnet/node/devnet-routes.ts';
import type { Server } from '../../../src/http/request/http-server.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { nodeIDFromBytes } from '../../../src/warp/ids.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createTestServer } from '../../unit/api/api-fixture.ts';

let server: Server;
let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ validators: 3, clock: new FakeClock(), logger: createLogger('silent') });
  server = await createTestServer({ registerMore: (one) => registerDevnetRoutes(one, devnet, 'fuji') });
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

/** No node of the devnet. */
const OTHER_NODE = nodeIDFromBytes(new Uint8Array(20).fill(7));

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
  { register: { nodeId: OTHER_NODE, weight: 1 } },
  { register: { nodeId: OTHER_NODE, weight: 1, blsPublicKey: '0x8f' } },
  { register: { nodeId: OTHER_NODE, weight: 1, blsPublicKey: `0x${'00'.repeat(48)}` } },
])('refuses %j', async (payload) => {
  expect(await emit(payload)).toMatchObject({ status: 400 });
});

async function issue(payload: object) {
  const response = await server.inject({ method: 'POST', url: '/devnet/transactions', payload });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
}

test('issues a conversion', async () => {
  const validators = devnet.nodeIDs.slice(0, 2).map((nodeId) => ({ nodeId, weight: 5 }));
  expect(await issue({ type: 'ConvertSubnetToL1Tx', validators })).toMatchObject({
    status: 200,
    body: { height: 201, acceptedInMs: 10_000, validators: [{ nodeId: expect.any(String) }, {}] },
  });
});

const TYPES =
  'BaseTx, ConvertSubnetToL1Tx, RegisterL1ValidatorTx, SetL1ValidatorWeightTx, IncreaseL1ValidatorBalanceTx, DisableL1ValidatorTx';

test.each<[object, string | RegExp]>([
  [{}, `type must be one of ${TYPES}`],
  [{ type: 'CreateChainTx' }, `type must be one of ${TYPES}`],
  [[], 'body must be an object'],
  [{ type: 'RegisterL1ValidatorTx' }, 'message is missing'],
  [{ type: 'BaseTx', balance: 1 }, 'unknown field balance; known are: type'],
  [
    { type: 'DisableL1ValidatorTx', validationId: 'x', ValidationID: 'x' },
    'unknown field ValidationID: did you mean validationId?',
  ],
  [
    { type: 'RegisterL1ValidatorTx', message: '0x00', balance: 1e16 },
    'balance must be an integer from 0 to 9007199254740991',
  ],
  [{ type: 'RegisterL1ValidatorTx', message: '0x00' }, /^couldn't issue tx: failed verifying warp messages: /],
  [
    { type: 'ConvertSubnetToL1Tx', validators: [{ nodeId: 'x', weight: 1e16 }] },
    'validators.0.weight must be <= 9007199254740991',
  ],
  [{ type: 'ConvertSubnetToL1Tx', validators: [{ nodeId: 'x', weight: 1 }] }, 'nodeId must start with NodeID-'],
  [
    { type: 'ConvertSubnetToL1Tx', validators: [{ nodeId: 'x', weight: '1' }] },
    'validators.0.weight must be an integer',
  ],
])('refuses the transaction %j', async (payload, problem) => {
  const { status, body } = await issue(payload);
  expect([status, body['message']]).toEqual([400, expect.stringMatching(problem)]);
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
