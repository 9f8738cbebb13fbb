import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { parsePChainTransaction } from '../../../src/pchain/codec/l1-transaction.ts';
import { JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { idBytes, type TxID } from '../../../src/warp/ids.ts';
import { encodeJustification } from '../../../src/warp/justification.ts';
import { encodeL1Message, parseL1Message, registrationValidationID } from '../../../src/warp/l1-message.ts';
import { encodeWarpPayload, parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { type Answer, type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const SIGNAL = new AbortController().signal;
const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
const UNKNOWN_ID = 'SkB7qHwfMsyF2PgrjhMvtFxJKhuR5ZfVoW9VATWRV4P9jV7J';

let service: RunningService;
let api: NodeApi;
beforeAll(async () => {
  service = await startService(8);
  const endpoints = [{ baseUrl: service.devnet.apiUrl }];
  const client = new JsonRpcClient({
    endpoints,
    clock: systemClock,
    random: Math.random,
    metrics: createMetrics(new Registry()),
  });
  api = createNodeApi(client, client);
}, TIMEOUT_MS);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

const ofTransaction = (txID: string, query = ''): Promise<Answer> => service.get(`${PATH}/${txID}${query}`);
const exampleTxID = (name: string): string => {
  const found = service.devnet.examples('fuji').find((example) => example.name === `by transaction: ${name}`);
  return found?.path.split('/').at(-1) ?? '';
};

/** What the P-Chain says in a signed message. */
function contentOf({ status, body }: Answer) {
  expect({ status, message: body['message'] }).toEqual({ status: 201, message: undefined });
  const { unsignedMessage } = parseSignedMessage(parseHex(String(body['signedMessage']), 'signedMessage'));
  const call = parseWarpPayload(unsignedMessage.payload);
  if (call.kind !== 'AddressedCall') throw new Error('no addressed call');
  expect(call.sourceAddress).toHaveLength(0);
  return parseL1Message(call.payload);
}

function expectError({ status, headers, body }: Answer, expected: number, message: string | RegExp): void {
  expect({ status, message: body['message'], statusCode: body['statusCode'] }).toEqual({
    status: expected,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    statusCode: expected,
  });
  expect(headers.get('content-type')).toContain('application/json');
}

describe('GET by transaction', { timeout: TIMEOUT_MS }, () => {
  test.each([
    ['ConvertSubnetToL1Tx', { kind: 'SubnetToL1Conversion' }],
    ['RegisterL1ValidatorTx', { kind: 'L1ValidatorRegistration', registered: true }],
    ['SetL1ValidatorWeightTx', { kind: 'L1ValidatorWeight', nonce: 1n, weight: 350n }],
    [
      'SetL1ValidatorWeightTx that removes a validator of the conversion',
      { kind: 'L1ValidatorRegistration', registered: false },
    ],
    [
      'SetL1ValidatorWeightTx that removes a registered validator',
      { kind: 'L1ValidatorRegistration', registered: false },
    ],
  ])('%s', async (name, content) => {
    const answer = await ofTransaction(exampleTxID(name));
    expect(contentOf(answer)).toMatchObject(content);
    const { subnetID } = service.devnet.subnets.l1;
    expect(answer.body).toMatchObject({ signingSubnetId: subnetID, totalWeight: '910' });
    const height = Number(answer.body['pChainHeight']);
    expect(await service.verify(answer, { subnetID, height, quorum: 67 })).toMatchObject({ kind: 'valid' });
    const validators = await api.getValidatorsAt(subnetID as never, BigInt(height), SIGNAL);
    const signers = new Set(answer.body['signers'] as string[]);
    const weight = validators.filter(({ nodeID }) => signers.has(nodeID)).reduce((sum, v) => sum + v.weight, 0n);
    expect(answer.body['signedWeight']).toBe(String(weight));
  });

  test('signs at the epoch of the requested chain', async () => {
    const { cChainID } = service.devnet.subnets.primary;
    const answer = await ofTransaction(exampleTxID('RegisterL1ValidatorTx'), `?destinationBlockchainId=${cChainID}`);
    expect(answer.status).toBe(201);
    expect(answer.body['pChainHeight']).toBeGreaterThanOrEqual(199);
  });

  describe('refuses', () => {
    const carries = 'messages are of ConvertSubnetToL1Tx, RegisterL1ValidatorTx and SetL1ValidatorWeightTx';

    test.each([
      ['no ID', 'hello', /^txHash must be a 32-byte ID in hex or cb58: /],
      ['an ID with a wrong checksum', `${UNKNOWN_ID.slice(0, -1)}K`, /^txHash must be a 32-byte ID in hex or cb58: /],
      ['an ID of 20 bytes', 'P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5', /^txHash .*must have 32 bytes, has 20$/],
      ['odd hex', '0x123', /^txHash /],
      ['hex of another length', '0x1234', 'txHash must have 32 bytes, has 2'],
      ['a NodeID', 'NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5', /^txHash /],
    ])('%s with 400', async (_, text, message) => {
      expectError(await ofTransaction(text), 400, message);
    });

    test('an unknown transaction with 404', async () => {
      const message =
        `txHash: neither the P-Chain nor the X-Chain knows a transaction ${UNKNOWN_ID}; ` +
        'write the hash of an EVM transaction as 0x and 64 digits';
      expectError(await ofTransaction(UNKNOWN_ID), 404, message);
      const hash = `0x${bytesToHex(idBytes(UNKNOWN_ID as TxID))}`;
      const ofAnyChain =
        'txHash: neither the P-Chain, the X-Chain, the C-Chain nor a chain of a tracked subnet knows a transaction ' +
        `${UNKNOWN_ID} (${hash}); name another chain by blockchainId`;
      expectError(await ofTransaction(hash), 404, ofAnyChain);
    });

    test('one not yet accepted with 404', async () => {
      const { processing: id } = service.devnet.transactions;
      const message = `txHash: transaction ${id} is not yet accepted by the P-Chain; try again in a moment`;
      expectError(await ofTransaction(id), 404, message);
    });

    test.each([
      ['balanceIncrease', 'an IncreaseL1ValidatorBalanceTx'],
      ['disabling', 'a DisableL1ValidatorTx'],
    ] as const)('%s with 400', async (name, kind) => {
      const id = service.devnet.transactions[name];
      const message = `txHash: transaction ${id} is ${kind}, which carries no Warp message: ${carries}`;
      expectError(await ofTransaction(id), 400, message);
    });

    test('one of the X-Chain with 400', async () => {
      const { ofXChain: id } = service.devnet.transactions;
      const message = `txHash: ${id} is a transaction of the X-Chain, which carries no Warp message: ${carries}`;
      expectError(await ofTransaction(id), 400, message);
    });

    test('a weight that was changed later with 400, at once', async () => {
      const { overtakenWeightChange: id } = service.devnet.transactions;
      const startMs = performance.now();
      const message = `txHash: the weight that transaction ${id} set (nonce 0) was set anew since (nonce 1): the P-Chain confirms the last one only`;
      expectError(await ofTransaction(id), 400, message);
      expect(performance.now() - startMs).toBeLessThan(1_000);
    });

    test('the registration of a validator that was removed since with 400', async () => {
      const { usedUpRegistration: id } = service.devnet.transactions;
      const message = `txHash: the L1 validator that transaction ${id} registered was removed since: the P-Chain no longer confirms its registration`;
      expectError(await ofTransaction(id), 400, message);
    });
  });
});

describe('POST with a justification and no message', { timeout: TIMEOUT_MS }, () => {
  const post = (justification: Uint8Array, more: object = {}): Promise<Answer> =>
    service.post({ justification: bytesToHex(justification), ...more });
  const usedUp = async () => {
    const bytes = await api.getTx(service.devnet.transactions.usedUpRegistration as TxID, SIGNAL);
    const transaction = parsePChainTransaction(bytes);
    if (transaction.kind !== 'RegisterL1ValidatorTx') throw new Error(transaction.kind);
    return transaction;
  };
  const l1 = () => service.devnet.subnets.l1;

  test('a subnet ID gives its conversion, signed by the subnet of the manager chain', async () => {
    const answer = await post(idBytes(l1().subnetID));
    expect(contentOf(answer)).toMatchObject({ kind: 'SubnetToL1Conversion' });
    expect(answer.body['signingSubnetId']).toBe(l1().subnetID);
  });

  test('a signing subnet that is given is the one', async () => {
    const answer = await post(idBytes(l1().subnetID), { signingSubnetId: service.devnet.subnets.primary.subnetID });
    expect(contentOf(answer)).toMatchObject({ kind: 'SubnetToL1Conversion' });
    expect(answer.body['signingSubnetId']).toBe(service.devnet.subnets.primary.subnetID);
  });

  test('a registration in any wrapping gives the message that it is over', async () => {
    const { message, managerChainID } = await usedUp();
    const payload = encodeL1Message(message);
    const call = encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: new Uint8Array(20), payload });
    const warpMessage = createUnsignedMessage(service.devnet.networkID, managerChainID, call).bytes;
    const signed = new Uint8Array([...warpMessage, ...new Uint8Array(8), ...new Uint8Array(96)]);
    const wrappings = [
      payload,
      call,
      warpMessage,
      signed,
      ...[payload, call, warpMessage, signed].map((bytes) =>
        encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: bytes }),
      ),
    ];
    const validationID = registrationValidationID(message);
    for (const wrapping of wrappings) {
      const content = contentOf(await post(wrapping));
      expect(content).toEqual({ kind: 'L1ValidatorRegistration', validationID, registered: false });
    }
  });

  test('a whole Warp message is unwrapped beside a message too', async () => {
    const removal = service.devnet
      .examples('fuji')
      .find(({ name }) => name.endsWith('removal of a registered L1 validator'));
    const { message, managerChainID } = await usedUp();
    const call = encodeWarpPayload({
      kind: 'AddressedCall',
      sourceAddress: new Uint8Array(20),
      payload: encodeL1Message(message),
    });
    const whole = createUnsignedMessage(service.devnet.networkID, managerChainID, call).bytes;
    const answer = await service.post({ ...removal?.body, justification: `0x${bytesToHex(whole)}` });
    expect(contentOf(answer)).toMatchObject({ kind: 'L1ValidatorRegistration', registered: false });
  });

  const ACCEPTED =
    'justification: without a message it must be the 32 bytes of a subnet ID, an L1ValidatorRegistrationJustification, a ' +
    'RegisterL1Validator payload, or the Warp message that holds such a payload';
  test.each([
    ['text', bytesToHex(Buffer.from('hello'))],
    ['33 bytes', '00'.repeat(33)],
  ])('%s is refused with 400 that says what is accepted', async (_, justification) => {
    expectError(await service.post({ justification }), 400, ACCEPTED);
  });

  test('a Warp message that holds something else is refused with 400', async () => {
    const message = service.devnet.emit('C', Buffer.from('hello'));
    const problem = 'this is a Warp message: to have it signed, give it as the message; ';
    expectError(await post(message.bytes), 400, ACCEPTED.replace('without', `${problem}without`));
  });

  test('an unknown subnet is 404, the primary network 400', async () => {
    expectError(
      await service.post({ justification: '77'.repeat(32) }),
      404,
      /^justification: the P-Chain knows no subnet /,
    );
    expectError(
      await service.post({ justification: '00'.repeat(32) }),
      400,
      'justification: subnet 11111111111111111111111111111111LpoYY was not converted to an L1',
    );
  });

  test('a validator that exists is 400', async () => {
    const justification = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1().subnetID, index: 0 });
    expectError(await post(justification), 400, /^justification: validation \w+ is of an L1 validator that exists: /);
  });
});

describe('the height', { timeout: TIMEOUT_MS }, () => {
  test('is that of the destination, given in cb58 or hex', async () => {
    const { cChainID } = service.devnet.subnets.primary;
    const message = service.devnet.emitMessages(1)[0];
    const hex = bytesToHex(idBytes(cChainID));
    const answers = await Promise.all(
      [cChainID, hex, `0x${hex}`].map((destinationBlockchainId) => service.post({ message, destinationBlockchainId })),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body['pChainHeight'])).size).toBe(1);
  });

  test('and a destination together are 400', async () => {
    const message = service.devnet.emitMessages(1)[0];
    const destinationBlockchainId = service.devnet.subnets.primary.cChainID;
    expectError(
      await service.post({ message, destinationBlockchainId, pChainHeight: 110 }),
      400,
      'destinationBlockchainId: the destination chain must not be given together with a P-Chain height: each of them determines the height',
    );
  });
});

describe('without the blocks that hold a registration', { timeout: TIMEOUT_MS }, () => {
  test('says what was searched, or finds it by the data API', async () => {
    const { usedUpRegistration } = service.devnet.transactions;
    const asked: string[] = [];
    const dataApi = createServer((request, response) => {
      asked.push(request.url ?? '');
      const transactions = [{ txHash: UNKNOWN_ID }, { txHash: usedUpRegistration }];
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ transactions }));
    });
    await new Promise<void>((resolve) => dataApi.listen(0, '127.0.0.1', resolve));
    const { port } = dataApi.address() as AddressInfo;
    const internals = { network: { l1Index: { lookback: 0n, blocksPerSecond: 1_000 } } };
    try {
      // The same network, as seen from two services that read no block but the newest.
      await using without = await service.another({ internals });
      await using helped = await service.another({
        internals,
        network: { dataApi: { baseUrl: `http://127.0.0.1:${port}/data/` } },
      });
      const path = `${PATH}/${exampleTxID('SetL1ValidatorWeightTx that removes a registered validator')}`;
      // Until its first block is read it says so, and that it may know later.
      let answer = await without.get(path);
      while (answer.status === 503) answer = await without.get(path);
      expectError(
        answer,
        404,
        /^txHash: the registration of validation \w+, which the message needs as its justification, was not found: P-Chain blocks \d+ to \d+ were read; give the justification by POST$/,
      );
      expect(contentOf(await helped.get(path))).toMatchObject({ kind: 'L1ValidatorRegistration', registered: false });
      expect(asked[0]).toMatch(
        /^\/data\/v1\/networks\/mainnet\/blockchains\/p-chain\/transactions\?l1ValidationId=\w+&sortOrder=asc&pageSize=10$/,
      );
      // One of the conversion needs no block: its ID is the hash of the subnet and an index.
      const conversion = `${PATH}/${exampleTxID('SetL1ValidatorWeightTx that removes a validator of the conversion')}`;
      expect(contentOf(await without.get(conversion))).toMatchObject({ kind: 'L1ValidatorRegistration' });
    } finally {
      dataApi.close();
    }
  });
});

test('a restart with a store reads no block again', { timeout: TIMEOUT_MS }, async () => {
  const storePath = mkdtempSync(join(tmpdir(), 'service-store-'));
  const path = `${PATH}/${exampleTxID('SetL1ValidatorWeightTx that removes a registered validator')}`;
  const reads = 'signature_aggregator_api_calls_total{method="platform.getBlockByHeight",outcome="ok"}';
  try {
    {
      await using first = await service.another({ store: { path: storePath } });
      while ((await first.metric('signature_aggregator_l1_index_highest_block')) === 0) await nextTurn();
      while ((await first.metric('signature_aggregator_l1_index_lowest_block')) > 0) await nextTurn();
      expect(await first.metric(reads)).toBeGreaterThan(200);
    }
    await using again = await service.another({ store: { path: storePath } });
    expect(contentOf(await again.get(path))).toMatchObject({ kind: 'L1ValidatorRegistration', registered: false });
    // Those that were accepted meanwhile, if any.
    expect(await again.metric(reads).catch(() => 0)).toBeLessThan(4);
  } finally {
    rmSync(storePath, { recursive: true });
  }
});
