import { expect, test } from 'vitest';
import { GossipPool } from '../../../../src/devnet/node/gossip-pool.ts';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { BloomFilter } from '../../../../src/p2p/wire/bloom-filter.ts';
import { signAddress } from '../../../../src/p2p/wire/signed-address.ts';

test('a node that knows no address gets those of now, however often it asks', () => {
  const pool = new GossipPool(() => 0);
  const [first, second] = [1, 2].map((port) => signAddress(createIdentity(), { host: '1.2.3.4', port, timestamp: 1n }));
  const filter = BloomFilter.create(1, 0.01, (length) => new Uint8Array(length)).encode();
  const knownPeers = { $typeName: 'p2p.BloomFilter', filter, salt: new Uint8Array(32) } as const;
  const ports = () =>
    pool
      .pick({ except: [], knownPeers, isWanted: () => true })
      .map(({ ipPort }) => ipPort)
      .toSorted((a, b) => Number(a) - Number(b));
  pool.set(first!, []);
  expect([ports(), ports()]).toEqual([[1], [1]]);
  pool.set(second!, []);
  expect(ports()).toEqual([1, 2]);
  pool.delete(first!.nodeID);
  expect(ports()).toEqual([2]);
});
