import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { createAddressBook } from '../../../../src/p2p/discovery/address-book.ts';
import { type BootstrapPeer, createPeerDiscovery } from '../../../../src/p2p/discovery/peer-discovery.ts';
import { PeerListSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { encodeClaimedIpPort, signAddress } from '../../../../src/p2p/wire/signed-address.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';

const DIALS_PER_SECOND = 2;
const VERIFICATIONS_PER_SECOND = 8 * DIALS_PER_SECOND;
const peer = (number: number): NodeID => `NodeID-${number}` as NodeID;

function createHarness(
  dialsPerSecond = DIALS_PER_SECOND,
  bootstrapPeers: () => Promise<BootstrapPeer[]> = async () => [],
) {
  const clock = new FakeClock();
  const log = createLogLines();
  const [wanted, other] = [createIdentity(), createIdentity()];
  const isWanted = (nodeID: NodeID): boolean => nodeID === wanted.nodeID;
  const counts = new Map<string, number>();
  const none = (): void => undefined;
  const discovery = createPeerDiscovery({
    clock,
    random: () => 0.5,
    logger: log.logger,
    isWanted,
    book: createAddressBook({ maxEntries: 100, random: () => 0.5, isWanted, mayBeDialled: () => true }),
    bootstrapPeers,
    gossipIntervals: { minMs: 1_000, maxMs: 1_000 },
    dialsPerSecond,
    isSearching: () => false,
    readyPeers: () => [],
    send: none,
    onAddress: none,
    onClaim: (result) => {
      const name = result === 'first' ? 'new' : result;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
  });
  let timestamp = BigInt(Math.floor(clock.now() / 1_000)) - 10_000n;
  /** Sends newer and newer addresses of one node from a peer. Returns the number of each result. */
  const handOver = (from: NodeID, of: typeof wanted, count: number, isWrong = false): Record<string, number> => {
    counts.clear();
    for (let index = 0; index < count; index += 1) {
      timestamp += 1n;
      const signed = signAddress(of, { host: '10.0.0.1', port: 9_651, timestamp });
      const claimed = encodeClaimedIpPort(isWrong ? { ...signed, port: 9_652 } : signed);
      discovery.onHandshakePeerList(from, create(PeerListSchema, { claimedIpPorts: [claimed] }));
    }
    return Object.fromEntries(counts);
  };
  return { clock, log, discovery, wanted, other, handOver };
}

test('addresses of unwanted nodes do not use up the verifications for wanted nodes', async () => {
  const { clock, wanted, other, handOver } = createHarness();
  expect(handOver(peer(1), other, 40)).toEqual({ new: VERIFICATIONS_PER_SECOND, skipped: 24 });
  expect(handOver(peer(2), other, 10)).toEqual({ skipped: 10 });
  expect(handOver(peer(2), wanted, 10)).toEqual({ new: 10 });
  await clock.advance(500);
  expect(handOver(peer(2), other, 10)).toEqual({ new: VERIFICATIONS_PER_SECOND / 2, skipped: 2 });
});

test('verifications are limited to 800 a second', async () => {
  const { clock, other, handOver } = createHarness(110);
  // Several peers, because each has a lower limit.
  const verified = (count: number, from: number) =>
    Array.from({ length: count / 100 }, (_, index) => handOver(peer(from + index), other, 100)).reduce(
      (sum, results) => sum + (results['new'] ?? 0),
      0,
    );
  expect(verified(1_000, 1)).toBe(880);
  await clock.advance(1_000);
  expect(verified(900, 11)).toBe(800);
});

test('an invalid signature costs its sender eight verifications, and no other peer', async () => {
  const { clock, wanted, handOver } = createHarness();
  const results = { invalid: 0, skipped: 0 };
  for (let second = 0; second < 4; second += 1) {
    const { invalid = 0, skipped = 0 } = handOver(peer(1), wanted, VERIFICATIONS_PER_SECOND, true);
    results.invalid += invalid;
    results.skipped += skipped;
    await clock.advance(1_000);
  }
  // 128 at once, and 8 in each second: one address.
  expect(results.invalid).toBe(128 / 8 + 3);
  expect(handOver(peer(2), wanted, 10)).toEqual({ new: 10 });
});

test('warns once a minute that the first peers cannot be asked for', async () => {
  let asked = 0;
  const { clock, log, discovery } = createHarness(DIALS_PER_SECOND, () => {
    asked += 1;
    return Promise.reject(new Error('the API is down'));
  });
  for (let second = 0; second < 150; second += 1) {
    discovery.tick(clock.monotonicMs());
    await settle();
    await clock.advance(1_000);
  }
  expect(asked).toBeGreaterThan(6);
  expect(log.records().filter(({ level }) => level === 'warn')).toHaveLength(3);
});
