import { describe, expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../src/lib/encoding/parse-error.ts';
import {
  encodeSignatureRequest,
  encodeSignatureResponse,
  parseSignatureRequest,
  parseSignatureResponse,
} from '../../../src/warp/signature-request.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { readCase, readPeerTranscript } from '../../vectors/vectors.ts';
import { fixedBytes, signatureRequests } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

describe('a session with a real node', () => {
  const { frames, requests } = readPeerTranscript();
  const messages = (name: string): Map<number, Uint8Array> =>
    new Map(
      frames.flatMap(({ decoded: { [name]: body } }) =>
        body === undefined
          ? []
          : [[body.requestId as number, Uint8Array.from(Buffer.from(body.appBytes as string, 'base64'))] as const],
      ),
    );
  const asked = messages('appRequest');
  const answered = messages('appResponse');
  const asksForSignature = ([, name]: [number, string]): boolean => !/^(garbage app bytes|unknown handler)/.test(name);

  function requestOf(id: number) {
    return parseSignatureRequest(asked.get(id) ?? new Uint8Array());
  }

  test('its requests and responses are read, and encode to the same bytes', () => {
    for (const [id] of [...requests].filter(asksForSignature)) {
      const request = requestOf(id);
      expect(parseUnsignedMessage(request.message).payload.length).toBeGreaterThan(0);
      expect(encodeSignatureRequest(request)).toEqual(asked.get(id));
    }
    for (const bytes of answered.values())
      expect(encodeSignatureResponse(parseSignatureResponse(bytes))).toEqual(bytes);
    for (const [id, name] of [
      [1, 'c_warp_0'],
      [5, 'p_conversion'],
      [23, 'bad_p_weight'],
    ] as const) {
      const { unsignedMessage, justification } = readCase(name);
      expect(requestOf(id)).toEqual({ message: unsignedMessage, justification });
    }
  });

  test('response 1 is the signature of the node’s key', () => {
    const { peerNodeID } = readPeerTranscript();
    const { canonicalValidators } = readCase('c_warp_0');
    const validator = canonicalValidators.find(({ nodeIDs }) => nodeIDs.includes(peerNodeID));
    expect(parseSignatureResponse(answered.get(1) ?? new Uint8Array())).toEqual(validator?.signature);
  });

  test('requests that the node could not read are invalid', () => {
    const unreadable = [...requests].filter((entry) => !asksForSignature(entry));
    expect(unreadable).toHaveLength(2);
    for (const [id] of unreadable) {
      expect(() => requestOf(id)).toThrowError(ParseError);
    }
  });
});

describe('requests', () => {
  const codec = { encode: encodeSignatureRequest, parse: parseSignatureRequest };
  testCodec(codec, signatureRequests, { isCanonical: false });
});

describe('responses', () => {
  const codec = { encode: encodeSignatureResponse, parse: parseSignatureResponse };
  testCodec(codec, fixedBytes(96), { isCanonical: false });
});

test.each([
  ['nothing', '', 'signature has 0 bytes, expected 96'],
  ['a short signature', `0a5f${'11'.repeat(95)}`, 'signature has 95 bytes, expected 96'],
  ['an uncompressed signature', `0ac001${'11'.repeat(192)}`, 'signature has 192 bytes, expected 96'],
  ['a bare signature', '81'.repeat(96), 'is not the protobuf message'],
  ['a signature cut short', `0a60${'11'.repeat(95)}`, 'is not the protobuf message'],
  ['many unknown fields', `0a60${'11'.repeat(96)}${'7801'.repeat(464)}`, 'has 1026 bytes, at most 1024 are allowed'],
])('rejects a response of %s', (_name, hex, reason) => {
  expect(() => parseSignatureResponse(parseHex(hex, 'response'))).toThrowError(
    expect.objectContaining({ name: 'ParseError', message: `SignatureResponse: ${reason}` }),
  );
});

test('unknown fields of a response are ignored', () => {
  const bytes = parseHex(`${'7801'.repeat(463)}${'0a60'}${'11'.repeat(96)}`, 'response');
  expect(bytes).toHaveLength(1024);
  expect(parseSignatureResponse(bytes)).toHaveLength(96);
});
