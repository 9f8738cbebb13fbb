import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DecodeResult } from '../../../src/api/messages/messages.ts';
import type { VerificationResult } from '../../../src/api/messages/verification-record.ts';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeWarpPayload } from '../../../src/warp/payload.ts';
import { encodeSignedMessage, parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { readCase } from '../../vectors/vectors.ts';
import { type Answer, type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const VERIFY = '/v1/signatureAggregator/fuji/verify';
const DECODE = '/v1/signatureAggregator/fuji/decode';

let service: RunningService;
beforeAll(async () => {
  service = await startService(8);
}, TIMEOUT_MS);
afterAll(() => service[Symbol.asyncDispose]());

const decode = async (data: Uint8Array | string, as?: string): Promise<DecodeResult['readings']> => {
  const text = typeof data === 'string' ? data : bytesToHex(data);
  const { status, body, headers } = await service.post({ data: text, ...(as !== undefined && { as }) }, DECODE);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(headers.get('content-type')).toBe('application/json');
  return (body as unknown as DecodeResult).readings;
};

describe('POST /v1/signatureAggregator/fuji/verify', { timeout: TIMEOUT_MS }, () => {
  const verify = (signedMessage: Uint8Array | string, more: object = {}): Promise<Answer> =>
    service.post(
      { signedMessage: typeof signedMessage === 'string' ? signedMessage : bytesToHex(signedMessage), ...more },
      VERIFY,
    );
  const verdict = async (signedMessage: Uint8Array | string, more: object = {}): Promise<VerificationResult> => {
    const { status, body, headers } = await verify(signedMessage, more);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    return body as unknown as VerificationResult;
  };
  /** A message of the L1 that all who can sign it have signed, and its parts. */
  async function signed() {
    const { bytes } = service.devnet.chains.L1.emit(Buffer.from(`verify ${Math.random()}`));
    const answer = await service.post({ message: bytesToHex(bytes), quorumPercentage: 93 });
    expect(answer.status).toBe(201);
    const signedMessage = parseHex(String(answer.body['signedMessage']), 'signedMessage');
    return { answer, signedMessage, parts: parseSignedMessage(signedMessage) };
  }

  test('names the signers of a valid message and their weight', async () => {
    const { answer, signedMessage, parts } = await signed();
    const report = await verdict(signedMessage);
    expect(report).toMatchObject({
      ...{ isValid: true, messageId: parts.unsignedMessage.id, networkId: 1337 },
      signingSubnetId: service.devnet.subnets.l1.subnetID,
      ...{ quorumPercentage: 67, signedWeight: '850', totalWeight: '910', neededWeight: '610' },
      payload: { kind: 'AddressedCall' },
    });
    expect(report).not.toHaveProperty('problem');
    expect(report.signers.flatMap(({ nodeIds }) => nodeIds)).toEqual(answer.body['signers']);
    expect(report.signers.map(({ index }) => index)).toEqual([...parts.signature.signers]);
    const { blockchainID } = service.devnet.subnets.l1;
    expect(await verdict(signedMessage, { destinationBlockchainId: blockchainID })).toMatchObject({ isValid: true });
  });

  test('names the problem of an invalid message', async () => {
    const { signedMessage, parts } = await signed();
    const { signers, signature } = parts.signature;
    const changed = (change: Partial<typeof parts.signature>) =>
      encodeSignedMessage({ ...parts, signature: { signers, signature, ...change } });
    const problemOf = async (message: Uint8Array, more: object = {}) => (await verdict(message, more)).problem;
    expect(await verdict(signedMessage, { quorumPercentage: 94 })).toMatchObject({
      isValid: false,
      problem: { kind: 'insufficient weight', text: 'signature weight is insufficient: 94*910 > 100*850' },
      signers: [{}, {}, {}, {}],
    });
    expect(await problemOf(changed({ signers: [] }))).toMatchObject({ kind: 'no signers' });
    expect(await problemOf(changed({ signers: [...signers, 77] }))).toMatchObject({
      ...{ kind: 'unknown signer', text: expect.stringContaining('signer 77') },
    });
    const fewer = changed({ signers: signers.slice(1) });
    expect(await problemOf(fewer, { quorumPercentage: 10 })).toMatchObject({ kind: 'wrong signature' });
    const noPoint = changed({ signature: new Uint8Array(96).fill(7) });
    expect(await problemOf(noPoint)).toMatchObject({ kind: 'malformed signature' });
    // The set of an older height has other validators.
    const { olderHeight } = service.devnet.subnets.l1;
    expect(await verdict(signedMessage, { pChainHeight: olderHeight })).toMatchObject({
      ...{ isValid: false, pChainHeight: olderHeight, totalWeight: '510' },
    });
  });

  test('names the field that is not a signed message of this network', async () => {
    const { signedMessage, parts } = await signed();
    const refusal = async (...args: Parameters<typeof verify>): Promise<unknown[]> => {
      const { status, body } = await verify(...args);
      return [status, body['code'], body['message']];
    };
    expect(await refusal('')).toEqual([400, 'invalid_request', expect.stringMatching(/^signedMessage is empty/)]);
    const unsigned = 'signedMessage is not signed: it is an unsigned message';
    expect(await refusal(parts.unsignedMessage.bytes)).toEqual([400, 'invalid_request', unsigned]);
    const short = expect.stringMatching(/^signedMessage is not a Warp message: signed message: too short/);
    expect(await refusal(signedMessage.slice(0, -1))).toEqual([400, 'invalid_request', short]);
    const foreign = Uint8Array.from(signedMessage);
    foreign[5] = 1;
    expect(await refusal(foreign)).toEqual([400, 'wrong_network', expect.stringMatching(/^signedMessage: /)]);
    const both = { pChainHeight: 150, destinationBlockchainId: parts.unsignedMessage.sourceChainID };
    const ofDestination = expect.stringMatching(/^destinationBlockchainId: /);
    expect(await refusal(signedMessage, both)).toEqual([400, 'invalid_request', ofDestination]);
  });
});

describe('POST /v1/signatureAggregator/fuji/decode', { timeout: TIMEOUT_MS }, () => {
  test.each(['c_warp_0', 'p_registration_true'].map(readCase))(
    'decodes the request $name of the Go aggregator',
    async (vector) => {
      const [unsigned] = await decode(vector.unsignedMessage);
      expect(unsigned).toMatchObject({
        ...{ as: 'unsignedMessage', messageId: vector.unsignedMessageID, networkId: vector.networkID },
        sourceBlockchainId: vector.sourceChainID,
        payload: { kind: expect.stringMatching(/^(Hash|AddressedCall)$/) },
      });
      if (vector.signed !== undefined) {
        const [signed] = await decode(vector.signed.signedMessage);
        expect(signed).toMatchObject({
          ...{ as: 'signedMessage', unsignedMessage: bytesToHex(vector.unsignedMessage) },
          signature: { signers: [...vector.signed.signerIndices] },
        });
      }
      if (vector.justification.length > 0 && vector.justification.length !== 32) {
        expect((await decode(vector.justification, 'justification'))[0]).toMatchObject({ as: 'justification' });
      }
    },
  );

  test('reads payloads, and what is in them, apart', async () => {
    const hash = encodeWarpPayload({ kind: 'Hash', hash: new Uint8Array(32).fill(5) });
    // A bare Hash has the bytes of a bare conversion.
    expect((await decode(hash)).map(({ as }) => as)).toEqual(['payload', 'content']);
    expect(await decode(`0x${bytesToHex(hash)}`, 'content')).toMatchObject([
      { content: { kind: 'SubnetToL1Conversion' } },
    ]);
  });

  test('names the field and the reason if nothing can be decoded', async () => {
    const refusal = async (body: object): Promise<unknown> => (await service.post(body, DECODE)).body['message'];
    expect(await refusal({ data: '0X00' })).toMatch(/^data starts with 0X/);
    expect(await refusal({ data: '' })).toMatch(/^data is empty/);
    expect(await refusal({ data: 'ffff' })).toMatch(
      /^data fits no known form: as signedMessage, .*; as justification, /,
    );
    expect(await refusal({ data: '0000', as: 'payload' })).toMatch(
      /^data cannot be read as payload: Warp payload: too short/,
    );
    expect(await refusal({ data: '00', as: 'novel' })).toBe(
      'as must be one of signedMessage, unsignedMessage, payload, content, justification',
    );
    expect(await refusal({})).toBe('data is missing');
    expect(await refusal({ data: '00', message: '00' })).toMatch(/^unknown field message/);
  });
});
