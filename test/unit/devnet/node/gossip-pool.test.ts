import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GossipPool, type PeerListQuery } from '../../../../src/devnet/node/gossip-pool.ts';
import { createSeededRandom } from '../../../../src/devnet/seeded-random.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { addressGossipID, BloomFilter, bloomHash } from '../../../../src/p2p/wire/bloom-filter.ts';
import type { SignedAddress } from '../../../../src/p2p/wire/signed-address.ts';
import { nodeIDFromCertificate, PRIMARY_NETWORK_ID, parseId, type SubnetID } from '../../../../src/warp/ids.ts';

const L1 = parseId<SubnetID>('BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy', 'subnet');
const EVERYTHING: PeerListQuery = { except: [], knownPeers: undefined, isWanted: () => true };

function address(index: number, timestamp = 100n): SignedAddress {
  const certificate = Uint8Array.of(index & 0xff, index >> 8);
  const nodeID = nodeIDFromCertificate(certificate);
  return { nodeID, host: '127.0.0.1', port: 1 + index, timestamp, certificate, signature: new Uint8Array(1) };
}

function poolOf(
  addresses: readonly SignedAddress[],
  subnetIDs: readonly SubnetID[] = [PRIMARY_NETWORK_ID],
): GossipPool {
  const pool = new GossipPool(createSeededRandom(1));
  for (const each of addresses) pool.set(each, subnetIDs);
  return pool;
}

function filterOf(known: readonly SignedAddress[], saltByte = 5): NonNullable<PeerListQuery['knownPeers']> {
  const salt = new Uint8Array(32).fill(saltByte);
  const filter = BloomFilter.create(5_000, 1e-6, (length) =>
    Uint8Array.from({ length }, (_, index) => index + saltByte),
  );
  for (const { nodeID, timestamp } of known) filter.add(bloomHash(addressGossipID(nodeID, timestamp), salt));
  return { $typeName: 'p2p.BloomFilter', filter: filter.encode(), salt };
}

const portsOf = (pool: GossipPool, query: Partial<PeerListQuery> = {}): number[] =>
  pool.pick({ ...EVERYTHING, ...query }).map(({ ipPort }) => ipPort ?? 0);

test('picks at most 15, none twice, and others the next time', () => {
  const pool = poolOf(Array.from({ length: 200 }, (_, index) => address(index)));
  const seen = new Set<number>();
  for (let round = 0; round < 100; round += 1) {
    const ports = portsOf(pool);
    expect(ports).toHaveLength(15);
    expect(new Set(ports).size).toBe(15);
    for (const port of ports) seen.add(port);
  }
  expect(seen.size).toBe(200);
});

test('leaves out who answers and who asks, and what is not wanted', () => {
  const addresses = Array.from({ length: 5 }, (_, index) => address(index));
  const pool = poolOf(addresses);
  pool.set(address(50), [L1]);
  const except = addresses.slice(0, 2).map(({ nodeID }) => nodeID);
  expect(portsOf(pool, { except }).toSorted((a, b) => a - b)).toEqual([3, 4, 5, 51]);
  expect(portsOf(pool, { isWanted: (subnets) => subnets.includes(L1) })).toEqual([51]);
});

test('tells a client that shows what it knows everything in the fewest rounds, and nothing twice', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 120 }), (count, knownCount) => {
      const addresses = Array.from({ length: count }, (_, index) => address(index));
      const pool = poolOf(addresses);
      const known = addresses.slice(0, knownCount);
      const toLearn = count - known.length;
      for (let rounds = 0; known.length < count; rounds += 1) {
        expect(rounds).toBeLessThan(Math.ceil(toLearn / 15));
        for (const port of portsOf(pool, { knownPeers: filterOf(known) })) {
          expect(known.some((each) => each.port === port)).toBe(false);
          known.push(address(port - 1));
        }
      }
      expect(portsOf(pool, { knownPeers: filterOf(known) })).toEqual([]);
      // Again, from memory.
      expect(portsOf(pool, { knownPeers: filterOf(known) })).toEqual([]);
    }),
    { numRuns: 30 },
  );
});

test('a remembered filter does not hide a new address, and another salt is another filter', () => {
  const addresses = Array.from({ length: 20 }, (_, index) => address(index));
  const pool = poolOf(addresses);
  const knownPeers = filterOf(addresses);
  expect(portsOf(pool, { knownPeers })).toEqual([]);
  pool.set(address(3, 200n), [PRIMARY_NETWORK_ID]);
  expect(portsOf(pool, { knownPeers })).toEqual([4]);
  expect(portsOf(pool, { knownPeers: filterOf(addresses, 9) })).toEqual([4]);
  pool.delete(address(3).nodeID);
  expect(portsOf(pool, { knownPeers })).toEqual([]);
});

test('refuses a filter that a node would disconnect for', () => {
  const pool = poolOf([address(1)]);
  const { $typeName, filter, salt } = filterOf([]);
  expect(() => portsOf(pool, { knownPeers: { $typeName, filter: new Uint8Array(), salt } })).toThrow(ParseError);
  expect(() => portsOf(pool, { knownPeers: { $typeName, filter, salt: new Uint8Array(33) } })).toThrow(ParseError);
});
