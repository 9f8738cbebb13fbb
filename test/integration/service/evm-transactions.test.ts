import { afterAll, describe, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../../src/pchain/codec/send-warp-log.ts';
import { idBytes, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { encodeTeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import type { UnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { reply, startStandIn } from '../proxy/stand-in.ts';
import type { Answer, RunningService } from './running-service.ts';
import { shareService } from './shared-service.ts';

const UNKNOWN_HASH = `0x${'5a'.repeat(32)}`;

const service = await shareService(8);
const { l1, primary } = service.devnet.subnets;
const rpc = await startStandIn();
/** Tracks the subnet of the L1, and has an RPC for a chain that exists and whose node has no EVM. */
const tracking = await service.another({
  network: { trackedSubnetIds: [l1.subnetID], chainRpc: { [primary.xChainID]: { baseUrl: `${rpc.baseUrl}/rpc` } } },
});
afterAll(async () => {
  await tracking[Symbol.asyncDispose]();
  await rpc[Symbol.asyncDispose]();
});

const text = (words: string): Uint8Array => Buffer.from(words);
const of = (hash: string, query = '', at: Pick<RunningService, 'get'> = service): Promise<Answer> =>
  at.get(`/v1/signatureAggregator/fuji/aggregateSignatures/${hash}${query}`);

async function expectSigned(answer: Answer, message: UnsignedMessage | undefined, subnetID: string): Promise<void> {
  expect({ status: answer.status, problem: answer.body['message'] }).toEqual({ status: 201, problem: undefined });
  const { unsignedMessage } = parseSignedMessage(parseHex(String(answer.body['signedMessage']), 'signedMessage'));
  expect(unsignedMessage.id).toBe(message?.id);
  const height = Number(answer.body['pChainHeight']);
  expect(await service.verify(answer, { subnetID, height, quorum: 67 })).toMatchObject({ kind: 'valid' });
}

function expectRefused(answer: Answer, status: number, code: string, message: RegExp): void {
  expect({ status: answer.status, ...answer.body }).toMatchObject({
    status,
    code,
    message: expect.stringMatching(message),
  });
}

test('the message of an L1 is signed by the L1, found by its chain, or because its subnet is tracked', async () => {
  const { hash, messages } = service.devnet.chains.L1.transact([text('of the L1')]);
  await expectSigned(await of(hash, `?blockchainId=${l1.blockchainID}`), messages[0], l1.subnetID);
  await expectSigned(await of(hash, '', tracking), messages[0], l1.subnetID);
  // Chains of other subnets are not searched.
  expect(rpc.arrivals).toEqual([]);
  expectRefused(await of(hash), 404, 'unknown_transaction', /name another chain by blockchainId$/);
});

describe('of several messages', () => {
  test('none is signed until logIndex chooses one; details list them', async () => {
    const teleporter = encodeTeleporterMessage({
      kind: 'TeleporterMessage',
      messageNonce: 7n,
      requiredGasLimit: 1n,
      message: text('hello'),
      destinationBlockchainID: l1.blockchainID,
      originSenderAddress: new Uint8Array(20),
      destinationAddress: new Uint8Array(20),
      allowedRelayerAddresses: [],
      receipts: [],
    });
    const { hash, messages } = service.devnet.chains.C.transact([teleporter, text('second')]);
    const answer = await of(hash, '?blockchainId=C');
    expectRefused(answer, 400, 'several_messages', /sent 2 Warp messages: choose one by logIndex 0, 1$/);
    const [first, second] = messages.map(({ id, bytes }, logIndex) => ({
      logIndex,
      messageId: id,
      bytes: bytes.length,
    }));
    expect(answer.body['details']).toEqual({
      messages: [{ ...first, destinationBlockchainId: l1.blockchainID }, second],
      messagesOmitted: 0,
    });
    await expectSigned(await of(hash, '?blockchainId=C&logIndex=1'), messages[1], PRIMARY_NETWORK_ID);
    // The first one names the L1 as its destination.
    await expectSigned(await of(hash, '?logIndex=0x0'), messages[0], l1.subnetID);
    const wrong = await of(hash, '?blockchainId=C&logIndex=2');
    expectRefused(wrong, 400, 'no_message_in_transaction', /has no message of logIndex 2, but of logIndex 0, 1$/);
    expect(wrong.body['details']).toEqual(answer.body['details']);
  });

  test('at most 100 are listed', async () => {
    const many = Array.from({ length: 120 }, (_, n) => text(`message ${n}`));
    const { hash } = service.devnet.chains.C.transact(many);
    const { details } = (await of(hash, '?blockchainId=C')).body;
    expect(details).toMatchObject({ messages: { length: 100 }, messagesOmitted: 20 });
  });
});

test('a failed transaction has no message, and an unknown one may have one after the time of a block', async () => {
  const { hash } = service.devnet.chains.C.transact([text('never')], 'failed');
  expectRefused(await of(hash, '?blockchainId=C'), 400, 'no_message_in_transaction', /of the C-Chain failed, so it/);
  const unknown = await of(UNKNOWN_HASH, '?blockchainId=C');
  expectRefused(unknown, 404, 'unknown_transaction', new RegExp(UNKNOWN_HASH));
  expect(unknown.headers.get('retry-after')).toBe('2');
});

test('a chain that the node does not run needs an RPC, which is not trusted', async () => {
  const ask = (at: Pick<RunningService, 'get'>) => of(UNKNOWN_HASH, `?blockchainId=${primary.xChainID}`, at);
  expectRefused(await ask(service), 502, 'chain_rpc_invalid', /HTTP status 404: .*; .* need the setting chainRpc$/);

  const { id: messageID, bytes } = service.devnet.chains.C.prepare(text('invented'));
  const log = {
    address: WARP_PRECOMPILE,
    topics: [SEND_WARP_MESSAGE, `0x${'0'.repeat(64)}`, `0x${bytesToHex(idBytes(messageID))}`],
    data: encodeLogData(bytesToHex(bytes)),
    logIndex: '0x0',
  };
  const answerWith = (result: unknown): void => {
    rpc.behaviour = (request, response, arrival) =>
      reply(200, { jsonrpc: '2.0', id: JSON.parse(arrival.body).id, result })(request, response, arrival);
  };
  answerWith({ transactionHash: UNKNOWN_HASH, status: '0x1', logs: [log] });
  expectRefused(await ask(tracking), 502, 'chain_rpc_invalid', /have a message of another blockchain/);
  answerWith('a'.repeat(5 * 1024 * 1024));
  expectRefused(await ask(tracking), 502, 'chain_rpc_invalid', /^the RPC of blockchain .* failed: /);
});
