import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../../src/pchain/codec/send-warp-log.ts';
import { idBytes, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { encodeTeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import type { UnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { type Answer, type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
const UNKNOWN_HASH = `0x${'5a'.repeat(32)}`;

let service: RunningService;
/** Tracks the subnet of the L1, and reads the receipts of one blockchain from `rpc`. */
let tracking: Awaited<ReturnType<RunningService['another']>>;
let rpc: Server;
/** What the RPC of `FOREIGN_CHAIN` does with a call. */
let answerRpc: (id: unknown, hash: string) => unknown;

beforeAll(async () => {
  rpc = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const { id, params } = JSON.parse(body) as { id: unknown; params: string[] };
      const answer = answerRpc(id, params[0] ?? '');
      if (answer === undefined) return;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => rpc.listen(0, '127.0.0.1', resolve));
  service = await startService(8);
  const { l1, primary } = service.devnet.subnets;
  const baseUrl = `http://127.0.0.1:${(rpc.address() as AddressInfo).port}/rpc`;
  tracking = await service.another({
    // A chain that exists, and whose node has no EVM.
    network: { trackedSubnetIds: [l1.subnetID], chainRpc: { [primary.xChainID]: { baseUrl } } },
    internals: { network: { apiTimeoutMs: 1_000 } },
  });
}, TIMEOUT_MS);
afterAll(async () => {
  await tracking[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  rpc.closeAllConnections();
  rpc.close();
});

const text = (words: string): Uint8Array => Buffer.from(words);
const of = (hash: string, query = '', at: Pick<RunningService, 'get'> = service): Promise<Answer> =>
  at.get(`${PATH}/${hash}${query}`);

async function expectSigned(answer: Answer, message: UnsignedMessage | undefined, subnetID: string): Promise<void> {
  expect({ status: answer.status, problem: answer.body['message'] }).toEqual({ status: 201, problem: undefined });
  const { unsignedMessage } = parseSignedMessage(parseHex(String(answer.body['signedMessage']), 'signedMessage'));
  expect(unsignedMessage.id).toBe(message?.id);
  const height = Number(answer.body['pChainHeight']);
  expect(await service.verify(answer, { subnetID, height, quorum: 67 })).toMatchObject({ kind: 'valid' });
}

function expectRefused(answer: Answer, status: number, code: string, message: RegExp): void {
  expect({ status: answer.status, ...answer.body }).toMatchObject({
    ...{ status, code, message: expect.stringMatching(message) },
  });
}

describe('the message of an EVM transaction', { timeout: TIMEOUT_MS }, () => {
  test('of the C-Chain is signed by the primary network, by its name, its ID and without either', async () => {
    const { hash, messages } = service.devnet.chains.C.transact([text('one')]);
    const { cChainID } = service.devnet.subnets.primary;
    const hex = `0x${bytesToHex(idBytes(cChainID))}`;
    for (const query of ['?blockchainId=C', `?blockchainId=${cChainID}`, `?blockchainId=${hex}`, '']) {
      await expectSigned(await of(hash, query), messages[0], PRIMARY_NETWORK_ID);
    }
  });

  test('of an L1 is signed by the L1, found by its chain, or because its subnet is tracked', async () => {
    const { hash, messages } = service.devnet.chains.L1.transact([text('of the L1')]);
    const { subnetID, blockchainID } = service.devnet.subnets.l1;
    await expectSigned(await of(hash, `?blockchainId=${blockchainID}`), messages[0], subnetID);
    await expectSigned(await of(hash, '', tracking), messages[0], subnetID);
    expectRefused(await of(hash), 404, 'unknown_transaction', /name another chain by blockchainId$/);
  });
});

describe('of several messages', { timeout: TIMEOUT_MS }, () => {
  const teleporter = () =>
    encodeTeleporterMessage({
      ...{ kind: 'TeleporterMessage', messageNonce: 7n, requiredGasLimit: 1n, message: text('hello') },
      destinationBlockchainID: service.devnet.subnets.l1.blockchainID,
      ...{ originSenderAddress: new Uint8Array(20), destinationAddress: new Uint8Array(20) },
      ...{ allowedRelayerAddresses: [], receipts: [] },
    });

  test('none is signed until logIndex chooses one; details list them', async () => {
    const { hash, messages } = service.devnet.chains.C.transact([teleporter(), text('second')]);
    const answer = await of(hash, '?blockchainId=C');
    expectRefused(answer, 400, 'several_messages', /sent 2 Warp messages: choose one by logIndex 0, 1$/);
    expect(answer.body['details']).toEqual({
      messages: [
        {
          ...{ logIndex: 0, messageId: messages[0]?.id, bytes: messages[0]?.bytes.length },
          destinationBlockchainId: service.devnet.subnets.l1.blockchainID,
        },
        { logIndex: 1, messageId: messages[1]?.id, bytes: messages[1]?.bytes.length },
      ],
      messagesOmitted: 0,
    });
    await expectSigned(await of(hash, '?blockchainId=C&logIndex=1'), messages[1], PRIMARY_NETWORK_ID);
    await expectSigned(await of(hash, '?logIndex=0x0'), messages[0], PRIMARY_NETWORK_ID);
    const wrong = await of(hash, '?blockchainId=C&logIndex=2');
    expectRefused(wrong, 400, 'no_message_in_transaction', /has no message of logIndex 2, but of logIndex 0, 1$/);
    expect(wrong.body['details']).toEqual(answer.body['details']);
  });

  test('at most 100 are listed', async () => {
    const { hash } = service.devnet.chains.C.transact(Array.from({ length: 120 }, (_, n) => text(`message ${n}`)));
    const { details } = (await of(hash, '?blockchainId=C')).body;
    expect(details).toMatchObject({ messages: { length: 100 }, messagesOmitted: 20 });
  });
});

describe('no message', { timeout: TIMEOUT_MS }, () => {
  test('of a failed transaction: 400 that says so', async () => {
    const { hash } = service.devnet.chains.C.transact([text('never')], 'failed');
    expectRefused(await of(hash, '?blockchainId=C'), 400, 'no_message_in_transaction', /of the C-Chain failed, so it/);
  });

  test('of an unknown transaction: 404 that may pass, after the time of a block', async () => {
    for (const query of ['?blockchainId=C', '']) {
      const answer = await of(UNKNOWN_HASH, query);
      expectRefused(answer, 404, 'unknown_transaction', new RegExp(UNKNOWN_HASH));
      expect(answer.headers.get('retry-after')).toBe('2');
    }
  });

  test('of a chain that the node does not run: 502 that names the setting', async () => {
    const { xChainID } = service.devnet.subnets.primary;
    const answer = await of(UNKNOWN_HASH, `?blockchainId=${xChainID}`);
    expectRefused(answer, 502, 'chain_rpc_invalid', /HTTP status 404; .* need the setting chainRpc$/);
  });
});

describe('an RPC that is not trusted', { timeout: TIMEOUT_MS }, () => {
  const ask = () => of(UNKNOWN_HASH, `?blockchainId=${service.devnet.subnets.primary.xChainID}`, tracking);
  test('a message of another chain: 502', async () => {
    const { id: messageID, bytes } = service.devnet.chains.C.prepare(text('invented'));
    const log = {
      address: WARP_PRECOMPILE,
      topics: [SEND_WARP_MESSAGE, `0x${'0'.repeat(64)}`, `0x${bytesToHex(idBytes(messageID))}`],
      ...{ data: encodeLogData(bytesToHex(bytes)), logIndex: '0x0' },
    };
    answerRpc = (id, hash) => ({ jsonrpc: '2.0', id, result: { transactionHash: hash, status: '0x1', logs: [log] } });
    expectRefused(await ask(), 502, 'chain_rpc_invalid', /have a message of another blockchain/);
  });

  test('an answer of 5 MiB: 502', async () => {
    answerRpc = (id) => ({ jsonrpc: '2.0', id, result: 'a'.repeat(5 * 1024 * 1024) });
    expectRefused(await ask(), 502, 'chain_rpc_invalid', /^the RPC of blockchain .* failed: /);
  });

  test('no answer: 503 within the timeout of the API, and other chains are served', async () => {
    answerRpc = () => undefined;
    const startMs = performance.now();
    const hanging = ask();
    const { hash, messages } = service.devnet.chains.C.transact([text('meanwhile')]);
    await expectSigned(await of(hash, '?blockchainId=C', tracking), messages[0], PRIMARY_NETWORK_ID);
    const answer = await hanging;
    expectRefused(answer, 503, 'chain_rpc_unavailable', /no answer/);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(performance.now() - startMs).toBeLessThan(3_000);
  });
});
