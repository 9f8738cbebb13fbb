import { describe, expect, test } from 'vitest';
import type { DecodeResult } from '../../../src/api/messages/message-records.ts';
import type { VerificationResult } from '../../../src/api/messages/verification-record.ts';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeLogData } from '../../../src/pchain/codec/send-warp-log.ts';
import { encodeWarpPayload } from '../../../src/warp/payload.ts';
import { encodeSignedMessage, parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { readCase } from '../../vectors/vectors.ts';
import { shareService } from './shared-service.ts';

const service = await shareService(8);
const { l1 } = service.devnet.subnets;

async function read<Result>(route: 'verify' | 'decode', sent: object): Promise<Result> {
  const { status, body, headers } = await service.post(sent, `/v1/signatureAggregator/fuji/${route}`);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(headers.get('content-type')).toBe('application/json');
  return body as Result;
}

async function refusal(route: 'verify' | 'decode', sent: object): Promise<unknown[]> {
  const { status, body } = await service.post(sent, `/v1/signatureAggregator/fuji/${route}`);
  return [status, body['code'], body['message']];
}

describe('POST /v1/signatureAggregator/fuji/verify', async () => {
  // A message of the L1 that all who can sign it have signed.
  const { bytes } = service.devnet.chains.L1.emit(Buffer.from('verify'));
  const answer = await service.post({ message: bytesToHex(bytes), quorumPercentage: 93 });
  const signedMessage = String(answer.body['signedMessage']);
  const parts = parseSignedMessage(parseHex(signedMessage, 'signedMessage'));
  const LOG_DATA = encodeLogData(bytesToHex(bytes));
  const verify = (more: object = {}) => read<VerificationResult>('verify', { signedMessage, ...more });

  test('names the signers of a valid message and their weight', async () => {
    const report = await verify();
    expect(report).toMatchObject({
      isValid: true,
      messageId: parts.unsignedMessage.id,
      networkId: 1337,
      signingSubnetId: l1.subnetID,
      quorumPercentage: 67,
      signedWeight: '850',
      totalWeight: '910',
      neededWeight: '610',
      payload: { kind: 'AddressedCall' },
    });
    expect(report).not.toHaveProperty('problem');
    expect(report.signers.flatMap(({ nodeIds }) => nodeIds)).toEqual(answer.body['signers']);
    expect(report.signers.map(({ index }) => index)).toEqual([...parts.signature.signers]);
    expect(await verify({ destinationBlockchainId: l1.blockchainID })).toMatchObject({ isValid: true });
  });

  test('reads a signed message that is ABI-encoded like the data of a log', async () => {
    expect(await verify({ signedMessage: encodeLogData(signedMessage) })).toEqual(await verify());
  });

  test('names the problem of an invalid message', async () => {
    expect(await verify({ quorumPercentage: 94 })).toMatchObject({
      isValid: false,
      problem: { kind: 'insufficient weight', text: 'signature weight is insufficient: 94*910 > 100*850' },
      signers: [{}, {}, {}, {}],
    });
    const signature = { ...parts.signature, signers: [...parts.signature.signers, 77] };
    const unknown = await verify({ signedMessage: bytesToHex(encodeSignedMessage({ ...parts, signature })) });
    expect(unknown.problem).toMatchObject({ kind: 'unknown signer', text: expect.stringContaining('signer 77') });
    // The set of an older height has other validators.
    const { olderHeight } = l1;
    expect(await verify({ pChainHeight: olderHeight })).toMatchObject({
      isValid: false,
      pChainHeight: olderHeight,
      totalWeight: '510',
    });
  });

  test('names the field that is not a signed message of this network', async () => {
    const foreign = `${signedMessage.slice(0, 10)}01${signedMessage.slice(12)}`;
    for (const [sent, code, message] of [
      [{ signedMessage: '' }, 'invalid_request', /^signedMessage is empty/],
      [{ signedMessage: bytesToHex(bytes) }, 'invalid_request', /^signedMessage is not signed: it is an unsigned/],
      [{ signedMessage: LOG_DATA }, 'invalid_request', /^signedMessage is not signed: it is the data of a SendWarp/],
      [
        { signedMessage: LOG_DATA.slice(0, -2) },
        'invalid_request',
        /^signedMessage begins like the data of a SendWarp/,
      ],
      [{ signedMessage: signedMessage.slice(0, -2) }, 'invalid_request', /^signedMessage is not .*: too short/],
      [{ signedMessage: foreign }, 'wrong_network', /^signedMessage: /],
    ] as const) {
      expect(await refusal('verify', sent)).toEqual([400, code, expect.stringMatching(message)]);
    }
  });
});

describe('POST /v1/signatureAggregator/fuji/decode', () => {
  const decode = async (data: Uint8Array, as?: string) =>
    (await read<DecodeResult>('decode', { data: bytesToHex(data), ...(as !== undefined && { as }) })).readings;

  test('decodes a request of the Go aggregator, and its signed message', async () => {
    const vector = readCase('c_warp_0');
    expect(await decode(vector.unsignedMessage)).toMatchObject([
      {
        as: 'unsignedMessage',
        messageId: vector.unsignedMessageID,
        networkId: vector.networkID,
        sourceBlockchainId: vector.sourceChainID,
        payload: { kind: 'AddressedCall' },
      },
    ]);
    expect(await decode(vector.signed!.signedMessage)).toMatchObject([
      {
        as: 'signedMessage',
        unsignedMessage: bytesToHex(vector.unsignedMessage),
        signature: { signers: [...vector.signed!.signerIndices] },
      },
    ]);
  });

  test('decodes the message in the data of a SendWarpMessage log, and returns it', async () => {
    const { unsignedMessage, unsignedMessageID: messageId } = readCase('c_warp_0');
    const data = encodeLogData(bytesToHex(unsignedMessage));
    const decoded = { logMessage: bytesToHex(unsignedMessage), readings: [{ as: 'unsignedMessage', messageId }] };
    expect(await read('decode', { data })).toMatchObject(decoded);
    expect(await read('decode', { data, as: 'unsignedMessage' })).toMatchObject(decoded);
  });

  test('returns each reading, or the requested one', async () => {
    const hash = encodeWarpPayload({ kind: 'Hash', hash: new Uint8Array(32).fill(5) });
    // A bare Hash has the bytes of a bare conversion.
    expect((await decode(hash)).map(({ as }) => as)).toEqual(['payload', 'content']);
    expect(await decode(hash, 'content')).toMatchObject([{ content: { kind: 'SubnetToL1Conversion' } }]);
  });

  test.each<[object, RegExp]>([
    [{ data: '0X00' }, /^data starts with 0X/],
    [{ data: '' }, /^data is empty/],
    [{ data: 'ffff' }, /^data fits no known form: as signedMessage, .*; as justification, /],
    [{ data: encodeLogData('ffff') }, /^data fits no known form: .* as unsignedMessage, UnsignedMessage: /],
    [
      { data: encodeLogData(bytesToHex(readCase('c_warp_0').unsignedMessage)), as: 'signedMessage' },
      /^data cannot be read as signedMessage: it is not signed: it is the data of a SendWarpMessage log, with an unsigned/,
    ],
    [{ data: '0000', as: 'payload' }, /^data cannot be read as payload: Warp payload: too short/],
    [
      { data: '00', as: 'novel' },
      /^as must be one of signedMessage, unsignedMessage, payload, content, justification$/,
    ],
    [{}, /^data is missing$/],
    [{ data: '00', message: '00' }, /^unknown field message/],
  ])('refuses %j', async (sent, message) => {
    expect(await refusal('decode', sent)).toEqual([400, 'invalid_request', expect.stringMatching(message)]);
  });
});
