import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { idBytes, type TxID } from '../../../src/warp/ids.ts';
import { parseJustification } from '../../../src/warp/justification.ts';
import { parseL1Message, registrationValidationID } from '../../../src/warp/l1-message.ts';
import { encodeWarpPayload, parseWarpPayload } from '../../../src/warp/payload.ts';
import { encodeSignedMessage, parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { type Answer, type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
const UNKNOWN_ID = 'SkB7qHwfMsyF2PgrjhMvtFxJKhuR5ZfVoW9VATWRV4P9jV7J';

let service: RunningService;
beforeAll(async () => {
  service = await startService(8);
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
  test('signs at the epoch of the requested chain', async () => {
    const { cChainID } = service.devnet.subnets.primary;
    const answer = await ofTransaction(exampleTxID('RegisterL1ValidatorTx'), `?destinationBlockchainId=${cChainID}`);
    expect(answer.status).toBe(201);
    expect(answer.body['pChainHeight']).toBeGreaterThanOrEqual(199);
  });

  test('of an unknown transaction is 404, and names where it was looked for', async () => {
    const ofPChain = /^txHash: neither the P-Chain nor the X-Chain knows /;
    expectError(await ofTransaction(UNKNOWN_ID), 404, ofPChain);
    const ofAnyChain = /^txHash: neither the P-Chain, the X-Chain, the C-Chain nor a chain of a tracked subnet knows /;
    expectError(await ofTransaction(`0x${bytesToHex(idBytes(UNKNOWN_ID as TxID))}`), 404, ofAnyChain);
  });

  test('of the X-Chain, or of an overtaken weight, is 400', async () => {
    const { ofXChain, overtakenWeightChange } = service.devnet.transactions;
    expectError(await ofTransaction(ofXChain), 400, /^txHash: .* is a transaction of the X-Chain/);
    expectError(await ofTransaction(overtakenWeightChange), 400, /^txHash: .* was set anew since \(nonce 1\)/);
  });
});

describe('POST with a justification and no message', { timeout: TIMEOUT_MS }, () => {
  const post = (justification: Uint8Array, more: object = {}): Promise<Answer> =>
    service.post({ justification: bytesToHex(justification), ...more });
  const l1 = () => service.devnet.subnets.l1;

  test('a subnet ID gives its conversion, signed by the subnet of the manager chain', async () => {
    const answer = await post(idBytes(l1().subnetID));
    expect(contentOf(answer)).toMatchObject({ kind: 'SubnetToL1Conversion' });
    expect(answer.body['signingSubnetId']).toBe(l1().subnetID);
  });

  test('a registration in a signed Warp message gives the message that it is over, alone and beside that message', async () => {
    const { body } =
      service.devnet.examples('fuji').find(({ name }) => name.endsWith('removal of a registered L1 validator')) ?? {};
    const known = parseJustification(parseHex(body?.justification ?? '', 'justification'));
    if (known.kind !== 'RegisterL1ValidatorMessage') throw new Error(known.kind);
    const registration = parseL1Message(known.message);
    if (registration.kind !== 'RegisterL1Validator') throw new Error(registration.kind);
    const call = encodeWarpPayload({
      ...{ kind: 'AddressedCall', sourceAddress: new Uint8Array(20), payload: known.message },
    });
    const unsignedMessage = createUnsignedMessage(service.devnet.networkID, l1().blockchainID, call);
    const signature = { signers: [], signature: new Uint8Array(96) };
    const justification = encodeSignedMessage({ unsignedMessage, signature });
    const validationID = registrationValidationID(registration);
    const expected = { kind: 'L1ValidatorRegistration', validationID, registered: false };
    expect(contentOf(await post(justification))).toEqual(expected);
    const { message } = body ?? {};
    expect(contentOf(await post(justification, { message, quorumPercentage: 60 }))).toEqual(expected);
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
