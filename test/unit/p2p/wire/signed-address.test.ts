import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { type ClaimedIpPort, ClaimedIpPortSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { parseMessage } from '../../../../src/p2p/wire/messages.ts';
import {
  encodeClaimedIpPort,
  encodeUnsignedAddress,
  parseClaimedIpPort,
  signAddress,
  verifySignedAddress,
} from '../../../../src/p2p/wire/signed-address.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';

const peerList = readPeerTranscript()
  .frames.map((frame) => parseMessage(frame.bytes))
  .find((message) => message.case === 'peerList' && message.value.claimedIpPorts.length > 0);
if (peerList?.case !== 'peerList') throw new Error('not in the transcript');
const claims = peerList.value.claimedIpPorts;

describe('signed addresses', () => {
  it('of real nodes verify, but not with another port or time', () => {
    for (const claimed of claims) {
      const address = parseClaimedIpPort(claimed);
      const nowMs = Number(address.timestamp) * 1000;
      verifySignedAddress(address, nowMs);
      expect(address.host).toBe('127.0.0.1');
      expect(() => verifySignedAddress({ ...address, port: address.port + 1 }, nowMs)).toThrow(
        'not signed by its node',
      );
      expect(() => verifySignedAddress({ ...address, timestamp: address.timestamp - 1n }, nowMs)).toThrow(ParseError);
      const { certificate } = createIdentity();
      expect(() => verifySignedAddress({ ...address, certificate: certificate.der }, nowMs)).toThrow(ParseError);
    }
  });

  const identity = createIdentity();

  it('of ours verify after a round trip', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.ipV4(), fc.constant('2001:db8::7')),
        fc.integer({ min: 1, max: 65_535 }),
        (host, port) => {
          const signed = signAddress(identity, { host, port, timestamp: 1_700_000_000n });
          const parsed = parseClaimedIpPort(create(ClaimedIpPortSchema, encodeClaimedIpPort(signed)));
          expect(parsed.nodeID).toBe(identity.nodeID);
          expect(parsed.port).toBe(port);
          verifySignedAddress(parsed, 1_700_000_000_000);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('may be dated a minute ahead, no more', () => {
    const signed = signAddress(identity, { host: '1.2.3.4', port: 9651, timestamp: 1_700_000_060n });
    verifySignedAddress(signed, 1_700_000_000_000);
    expect(() => verifySignedAddress(signed, 1_699_999_999_000)).toThrow('more than a minute ahead');
  });

  it('have a real port', () => {
    for (const ipPort of [0, 65_536, 4_294_967_295]) {
      expect(() => parseClaimedIpPort({ ...(claims[0] as ClaimedIpPort), ipPort })).toThrow(ParseError);
    }
  });

  it('are signed as 16 bytes, port and time', () => {
    expect(
      Buffer.from(encodeUnsignedAddress({ host: '127.0.0.1', port: 39_999, timestamp: 258n })).toString('hex'),
    ).toBe('00000000000000000000ffff7f0000019c3f0000000000000102');
  });
});
