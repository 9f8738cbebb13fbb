import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type AddressBook,
  type AddressBookOptions,
  createAddressBook,
} from '../../../../src/p2p/discovery/address-book.ts';
import { addressGossipID, BloomFilter, bloomHash } from '../../../../src/p2p/wire/bloom-filter.ts';
import { type NodeID, nodeIDFromBytes } from '../../../../src/warp/ids.ts';
import { Draws } from '../../../simulation/draws.ts';

const node = (index: number): NodeID =>
  nodeIDFromBytes(new Uint8Array(20).fill(index % 256, 0, 10).fill(index >> 8, 10));
const at = (port: number, timestamp: bigint) => ({ host: '1.2.3.4', port, timestamp });

function createBook(options: Partial<AddressBookOptions> = {}): AddressBook {
  const { next: random } = new Draws('address book');
  return createAddressBook({ maxEntries: 1_000, random, isWanted: () => false, mayBeDialled: () => true, ...options });
}

function isInFilter(book: AddressBook, nowMs: number, nodeID: NodeID, timestamp: bigint): boolean {
  const { filter, salt } = book.knownPeers(nowMs, 60_000);
  return BloomFilter.parse(filter).has(bloomHash(addressGossipID(nodeID, timestamp), salt));
}

it('the book keeps the newest signed address in any order of arrival', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 10 }), (timestamps) => {
      const book = createBook();
      for (const [index, timestamp] of timestamps.entries()) {
        const isNewest = timestamps.slice(0, index).every((earlier) => earlier < timestamp);
        expect(book.addSigned(node(1), at(timestamp, BigInt(timestamp)))).toBe(isNewest);
        expect(book.addSigned(node(1), at(9, BigInt(timestamp)))).toBe(false);
      }
      const newest = Math.max(...timestamps);
      expect(book.endpoints(node(1))).toEqual([{ host: '1.2.3.4', port: newest, timestamp: BigInt(newest) }]);
      expect(isInFilter(book, 0, node(1), BigInt(newest))).toBe(true);
    }),
  );
});

it('the book returns the signed address first, then a different reported one', () => {
  const book = createBook();
  expect(book.endpoints(node(1))).toEqual([]);
  expect(book.addReported(node(1), { host: '9.9.9.9', port: 1 })).toBe(true);
  expect(book.addReported(node(1), { host: '9.9.9.9', port: 1 })).toBe(false);
  expect(book.endpoints(node(1))).toEqual([{ host: '9.9.9.9', port: 1 }]);
  book.addSigned(node(1), at(2, 5n));
  expect(book.endpoints(node(1)).map(({ port }) => port)).toEqual([2, 1]);
  expect(book.addReported(node(1), { host: '1.2.3.4', port: 2 })).toBe(true);
  expect(book.endpoints(node(1)).map(({ port }) => port)).toEqual([2]);
});

it('the book keeps addresses that may not be dialled, and does not return them', () => {
  const book = createBook({ mayBeDialled: ({ port }) => port > 1 });
  book.addSigned(node(1), at(1, 5n));
  expect(book.has(node(1))).toBe(true);
  expect(book.endpoints(node(1))).toEqual([]);
  book.addReported(node(1), { host: '9.9.9.9', port: 2 });
  expect(book.endpoints(node(1))).toEqual([{ host: '9.9.9.9', port: 2 }]);
  expect(book.signedEndpoint(node(1))).toEqual({ host: '1.2.3.4', port: 1 });
});

it('the book is bounded, and replaces entries only for wanted nodes', () => {
  const wanted = new Set([node(9), node(1)]);
  const book = createBook({ maxEntries: 3, isWanted: (nodeID) => wanted.has(nodeID) });
  for (const index of [1, 2, 3]) book.addSigned(node(index), at(index, 1n));
  expect(book.isNewer(node(4), 1n)).toBe(false);
  expect(book.addSigned(node(4), at(4, 1n))).toBe(false);
  expect(book.addReported(node(4), { host: '1.1.1.1', port: 1 })).toBe(false);
  expect(book.addSigned(node(2), at(5, 2n))).toBe(true);
  expect(book.addSigned(node(9), at(9, 1n))).toBe(true);
  expect([...book.nodeIDs()]).toEqual([node(1), node(3), node(9)]);
  expect(book.size).toBe(3);
  // Peers send an address that was replaced again.
  expect([node(9), node(2)].map((nodeID) => isInFilter(book, 0, nodeID, nodeID === node(9) ? 1n : 2n))).toEqual([
    true,
    false,
  ]);
});

it('the book fills a new filter in steps, returns the old one until then, and includes addresses added meanwhile', () => {
  const book = createBook();
  const fill = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) book.addSigned(node(index), at(1_000, BigInt(index + 1)));
  };
  fill(0, 600);
  const saltAt = (nowMs: number): string => Buffer.from(book.knownPeers(nowMs, 1_000).salt).toString('hex');
  // The first filter of so many.
  for (let step = 0; step < 3; step += 1) saltAt(0);
  const before = saltAt(0);
  expect(saltAt(2_000)).toBe(before);
  fill(600, 700);
  // The step before has passed its place.
  book.addSigned(node(0), at(1_000, 9_000n));
  const salts = [saltAt(2_000), saltAt(2_000), saltAt(2_000)];
  expect(salts[2]).not.toBe(before);
  for (let index = 0; index < 700; index += 1) {
    expect(isInFilter(book, 2_000, node(index), index === 0 ? 9_000n : BigInt(index + 1))).toBe(true);
  }
  // It is encoded once.
  expect(book.knownPeers(2_001, 60_000)).toBe(book.knownPeers(2_002, 60_000));
});
