import { expect, it } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { type ClaimedIpPort } from '../../../../src/p2p/gen/p2p_pb.js';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { parseMessage } from '../../../../src/p2p/wire/messages.ts';
import { parseClaimedIpPort, signAddress, verifySignedAddress } from '../../../../src/p2p/wire/signed-address.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';

const peerList = readPeerTranscript()
  .frames.map((frame) => parseMessage(frame.bytes))
  .find((message) => message.case === 'peerList' && message.value.claimedIpPorts.length > 0);
if (peerList?.case !== 'peerList') throw new Error('not in the transcript');
const claims = peerList.value.claimedIpPorts;

it('signed addresses of real nodes verify, but not with another port or time', () => {
  for (const claimed of claims) {
    const address = parseClaimedIpPort(claimed);
    const nowMs = Number(address.timestamp) * 1000;
    verifySignedAddress(address, nowMs);
    expect(address.host).toBe('127.0.0.1');
    expect(() => verifySignedAddress({ ...address, port: address.port + 1 }, nowMs)).toThrow('not signed by its node');
    expect(() => verifySignedAddress({ ...address, timestamp: address.timestamp - 1n }, nowMs)).toThrow(ParseError);
    const { certificate } = createIdentity();
    expect(() => verifySignedAddress({ ...address, certificate: certificate.der }, nowMs)).toThrow(ParseError);
  }
});

const identity = createIdentity();

it('signed addresses may be dated a minute ahead, no more', () => {
  const signed = signAddress(identity, { host: '1.2.3.4', port: 9651, timestamp: 1_700_000_060n });
  verifySignedAddress(signed, 1_700_000_000_000);
  expect(() => verifySignedAddress(signed, 1_699_999_999_000)).toThrow('more than a minute ahead');
});

it('signed addresses have a real port', () => {
  for (const ipPort of [0, 65_536, 4_294_967_295]) {
    expect(() => parseClaimedIpPort({ ...(claims[0] as ClaimedIpPort), ipPort })).toThrow(ParseError);
  }
});
