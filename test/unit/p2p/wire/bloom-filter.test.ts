import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { parseKnownPeers } from '../../../../src/p2p/connection/handshake.ts';
import { addressGossipID, BloomFilter, bloomHash } from '../../../../src/p2p/wire/bloom-filter.ts';
import { parseMessage } from '../../../../src/p2p/wire/messages.ts';
import { parseClaimedIpPort } from '../../../../src/p2p/wire/signed-address.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';

const hashes = fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { minLength: 1, maxLength: 50 });
const fixedBytes = (length: number): Uint8Array => new Uint8Array(length).map((_, index) => index * 37);

it('a Bloom filter contains added elements, also after a round trip', () => {
  fc.assert(
    fc.property(hashes, fc.nat({ max: 100 }), (added, count) => {
      const filter = BloomFilter.create(count, 0.01, fixedBytes);
      for (const hashed of added) filter.add(hashed);
      const bytes = filter.encode();
      const parsed = BloomFilter.parse(bytes);
      expect(parsed.encode()).toEqual(bytes);
      for (const hashed of added) expect(parsed.has(hashed)).toBe(true);
    }),
  );
});

it('a Bloom filter has few false positives', () => {
  const filter = BloomFilter.create(2000, 0.001, (length) => randomBytes(length));
  const salt = randomBytes(32);
  for (let index = 0; index < 2000; index += 1) filter.add(bloomHash(Buffer.from(`in ${index}`), salt));
  let falsePositives = 0;
  for (let index = 0; index < 10_000; index += 1) {
    if (filter.has(bloomHash(Buffer.from(`out ${index}`), salt))) falsePositives += 1;
  }
  // 10 are expected; 50 or more happen less often than once in 10^17 runs.
  expect(falsePositives).toBeLessThan(50);
  expect(filter.encode().length).toBeLessThan(4000);
});

it('a Bloom filter parses any bytes and encodes them back, or throws a ParseError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        expect(BloomFilter.parse(bytes).encode()).toEqual(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(ParseError);
      }
    }),
  );
});

it('a Bloom filter refuses no seeds, more than 16, and no bits', () => {
  for (const bytes of [[], [0, 1], [17, ...new Array<number>(17 * 8 + 1).fill(1)], [1, 1, 2, 3, 4, 5, 6, 7, 8]]) {
    expect(() => BloomFilter.parse(Uint8Array.from(bytes))).toThrow(ParseError);
  }
});

it('a signed address is an element in the filter of a real node', () => {
  const messages = readPeerTranscript()
    .frames.filter((frame) => frame.direction === 'in')
    .map((frame) => parseMessage(frame.bytes));
  const handshake = messages.find((message) => message.case === 'handshake');
  const peerList = messages.find((message) => message.case === 'peerList');
  if (handshake?.case !== 'handshake' || peerList?.case !== 'peerList') throw new Error('not in the transcript');
  const { filter, salt } = parseKnownPeers(handshake.value.knownPeers);
  expect(peerList.value.claimedIpPorts.length).toBeGreaterThan(2);
  for (const claimed of peerList.value.claimedIpPorts) {
    const { nodeID, timestamp } = parseClaimedIpPort(claimed);
    expect(filter.has(bloomHash(addressGossipID(nodeID, timestamp), salt))).toBe(true);
    expect(filter.has(bloomHash(addressGossipID(nodeID, timestamp + 1n), salt))).toBe(false);
  }
});
