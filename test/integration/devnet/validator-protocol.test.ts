import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { parseHandshake } from '../../../src/p2p/connection/handshake.ts';
import type { ClaimedIpPort } from '../../../src/p2p/gen/p2p_pb.js';
import { parseStakingCertificate } from '../../../src/p2p/identity/certificate.ts';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import { addressGossipID, bloomHash } from '../../../src/p2p/wire/bloom-filter.ts';
import type { PeerMessageInit } from '../../../src/p2p/wire/messages.ts';
import { parseClaimedIpPort, verifySignedAddress } from '../../../src/p2p/wire/signed-address.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { idBytes, type NodeID, nodeIDFromCertificate } from '../../../src/warp/ids.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../../../src/warp/signature-request.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { DevnetClient, knownPeers, NETWORK_ID } from './devnet-client.ts';

const clock = new FakeClock();
let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ validators: 25, clock, logger: createLogger('silent') });
});
afterAll(() => devnet[Symbol.asyncDispose]());

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function connect(index = 0, identity = createIdentity()): Promise<DevnetClient> {
  return cleanup.use(await DevnetClient.connect(devnet.validator(index), clock, identity));
}

async function handshake(index = 0, change: Parameters<DevnetClient['sendHandshake']>[0] = {}) {
  const done = await DevnetClient.handshake(devnet.validator(index), clock, change);
  cleanup.use(done.client);
  return done;
}

function requestFor(text: string): Uint8Array {
  const { bytes } = devnet.chains.C.emit(Buffer.from(text));
  return encodeSignatureRequest({ message: bytes, justification: new Uint8Array() });
}

function isConnected({ identity }: DevnetClient): boolean {
  return devnet.validator(0).connectedPeers.some(({ nodeID }) => nodeID === identity.nodeID);
}

function nodeIDsOf(claimed: readonly ClaimedIpPort[]): NodeID[] {
  return claimed.map(({ x509Certificate }) => nodeIDFromCertificate(x509Certificate));
}

describe('the validator', () => {
  test('shows the certificate of its NodeID and a Handshake that we take', async () => {
    const client = await connect(0);
    const certificate = parseStakingCertificate(client.serverCertificate);
    expect(certificate.nodeID).toBe(devnet.nodeIDs[0]);
    const { message, isCompressed } = await client.next('handshake');
    expect(isCompressed).toBe(false);
    const parsed = parseHandshake(message.value, { networkID: NETWORK_ID, nowMs: clock.now(), certificate });
    expect(parsed).toMatchObject({
      clientName: 'avalanchego',
      version: { major: 1, minor: 15, patch: 0 },
      address: { host: '127.0.0.1', port: devnet.validator(0).address.port },
      trackedSubnets: [idBytes(devnet.subnets.l1.subnetID)],
      allSubnets: true,
    });
  });

  test('answers a Handshake and requests with compressed messages', async () => {
    const client = await connect();
    await client.next('handshake');
    client.sendHandshake();
    expect((await client.next('peerList')).isCompressed).toBe(true);
    client.send({ case: 'peerList', value: {} });
    client.sendRequest(devnet.subnets.primary.cChainID, 7, requestFor('a'));
    const signed = await client.next('appResponse');
    expect(signed.message.value).toMatchObject({ chainId: idBytes(devnet.subnets.primary.cChainID), requestId: 7 });
    expect(parseSignatureResponse(signed.message.value.appBytes)).toHaveLength(96);
    client.sendRequest(devnet.subnets.primary.cChainID, 9, Uint8Array.of(99));
    const refused = await client.next('appError');
    expect(refused.message.value).toMatchObject({ requestId: 9, errorCode: -2 });
    expect([signed.isCompressed, refused.isCompressed]).toEqual([true, true]);
  });

  test('drops requests that come before our PeerList', async () => {
    const client = await connect();
    const before = devnet.validator(0).appRequestCount;
    await client.next('handshake');
    client.sendRequest(devnet.subnets.primary.cChainID, 1, requestFor('a'));
    client.sendHandshake();
    await client.next('peerList');
    client.sendRequest(devnet.subnets.primary.cChainID, 3, requestFor('b'));
    await client.roundTrip();
    client.send({ case: 'peerList', value: {} });
    client.sendRequest(devnet.subnets.primary.cChainID, 5, requestFor('c'));
    expect((await client.next('appResponse')).message.value.requestId).toBe(5);
    expect(devnet.validator(0).appRequestCount).toBe(before + 1);
  });
});

describe('disconnects', () => {
  // What parseHandshake refuses is tested with it.
  test.each([
    ['another network', { networkId: 1 }],
    ['an older version', { client: { name: 'avalanchego', major: 1, minor: 13, patch: 5 } }],
    ['the next major version', { client: { name: 'avalanchego', major: 2, minor: 0, patch: 0 } }],
    ['a BLS signature that is no point', { ipBlsSig: new Uint8Array(96).fill(0xff) }],
    ['no BLS signature', { ipBlsSig: new Uint8Array() }],
  ])('for a Handshake with %s', async (_, change) => {
    const client = await connect();
    await client.next('handshake');
    client.sendHandshake(change);
    await client.ended;
    expect(client.isEnded).toBe(true);
  });

  const rudeMessages: [string, PeerMessageInit][] = [
    ['a Pong that nobody asked for', { case: 'pong', value: {} }],
    ['an uptime above 100 %', { case: 'ping', value: { uptime: 101 } }],
    ['a GetPeerList without a filter', { case: 'getPeerList', value: {} }],
    [
      'a PeerList with a bad certificate',
      { case: 'peerList', value: { claimedIpPorts: [{ ipAddr: new Uint8Array(4), ipPort: 1 }] } },
    ],
  ];
  test.each(rudeMessages)('for %s', async (_, message) => {
    const { client } = await handshake();
    client.send(message);
    await client.ended;
    expect(isConnected(client)).toBe(false);
  });

  test('for a second Handshake', async () => {
    const { client } = await handshake();
    client.sendHandshake();
    await client.ended;
    expect(isConnected(client)).toBe(false);
  });

  test('whoever comes with the NodeID of a peer that is there', async () => {
    const { client } = await handshake();
    const second = await connect(0, client.identity);
    await second.ended;
    await client.roundTrip();
    expect(isConnected(client)).toBe(true);
  });

  test('a peer with its own NodeID', async () => {
    const client = await connect(0, devnet.validator(0).role.identity);
    await client.ended;
    expect(devnet.validator(0).connectedPeers.map(({ nodeID }) => nodeID)).not.toContain(client.identity.nodeID);
  });

  test('who falls silent, after 30 s, and pings every 22.5 s until then', async () => {
    const { client } = await handshake();
    await client.roundTrip();
    await clock.advance(22_499);
    await client.roundTrip();
    await clock.advance(1);
    await client.next('ping');
    client.send({ case: 'pong', value: {} });
    await client.roundTrip();
    await clock.advance(22_500);
    await client.next('ping');
    await clock.advance(7_499);
    expect(client.isEnded).toBe(false);
    await clock.advance(1);
    await client.ended;
    expect(isConnected(client)).toBe(false);
  });

  test('a TCP connection on which no TLS follows, after 15 s', async () => {
    const { host, port } = devnet.validator(0).address;
    const socket = connectTcp({ host, port });
    cleanup.defer(() => void socket.destroy());
    await once(socket, 'connect');
    // Later connections are accepted after earlier ones.
    await (await connect()).next('handshake');
    const closed = once(socket, 'close');
    socket.on('error', () => undefined);
    await clock.advance(15_000);
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});

describe('tolerates', () => {
  test.each([
    ['a later minor version', { client: { name: 'x', major: 1, minor: 99, patch: 0 } }],
    ['the oldest compatible version', { client: { name: '', major: 1, minor: 14, patch: 0 } }],
    ['no filter of known peers', { knownPeers: undefined }],
  ])('%s', async (_, change) => {
    const { client } = await handshake(0, change);
    await client.roundTrip();
    expect(isConnected(client)).toBe(true);
  });

  test('frames that it cannot read, and answers nobody waits for', async () => {
    const { client } = await handshake();
    // The last one says that it is compressed with zstd.
    for (const payload of [[255, 255], [], [0x12, 2, 1, 2]]) client.sendPayload(Uint8Array.from(payload));
    client.send({ case: 'appResponse', value: { requestId: 1 } });
    client.send({ case: 'appError', value: { requestId: 1 } });
    client.send({ case: 'appGossip', value: {} });
    await client.roundTrip();
    expect(isConnected(client)).toBe(true);
  });
});

describe('gossip', () => {
  /** Asks until nothing more comes. */
  async function learnAll(client: DevnetClient, first: readonly ClaimedIpPort[], allSubnets: boolean) {
    const known = [...first];
    const salt = new Uint8Array(32).fill(3);
    for (;;) {
      const hashes = known.map(({ x509Certificate, timestamp }) =>
        bloomHash(addressGossipID(nodeIDFromCertificate(x509Certificate), timestamp), salt),
      );
      client.send({ case: 'getPeerList', value: { knownPeers: knownPeers(hashes, salt), allSubnets } });
      client.send({ case: 'ping', value: { uptime: 0 } });
      const { message, isCompressed } = await client.next('peerList', 'pong');
      // A Pong with no PeerList before it: there was nothing to tell.
      if (message.case === 'pong') return known;
      await client.next('pong');
      expect(isCompressed).toBe(true);
      expect(message.value.claimedIpPorts.length).toBeLessThanOrEqual(15);
      known.push(...message.value.claimedIpPorts);
    }
  }

  test('tells of all others, 15 at most at a time, with addresses they signed', async () => {
    const { client, peerList } = await handshake();
    expect(peerList.claimedIpPorts).toHaveLength(15);
    const known = await learnAll(client, peerList.claimedIpPorts, true);
    expect(nodeIDsOf(known).toSorted()).toEqual(devnet.nodeIDs.slice(1).toSorted());
    for (const claimed of known) {
      const address = parseClaimedIpPort(claimed);
      verifySignedAddress(address, clock.now());
      expect(address.port).toBe(devnet.validator(devnet.nodeIDs.indexOf(address.nodeID)).address.port);
    }
  });

  test('tells of validators of the L1 alone only who asks for them', async () => {
    const [l1Only] = devnet.nodeIDs.slice(25);
    const ofPrimary = await handshake(0, { allSubnets: false });
    const learnt = nodeIDsOf(await learnAll(ofPrimary.client, ofPrimary.peerList.claimedIpPorts, false));
    expect(learnt.toSorted()).toEqual(devnet.nodeIDs.slice(1, 25).toSorted());
    const trackedSubnets = [idBytes(devnet.subnets.l1.subnetID)];
    const ofL1 = await handshake(1, { allSubnets: false, trackedSubnets });
    expect(nodeIDsOf(await learnAll(ofL1.client, ofL1.peerList.claimedIpPorts, false))).toContain(l1Only);
  });

  test('forgets who stopped, and tells the new address of who came back', async () => {
    const validator = devnet.validator(3);
    const before = validator.address;
    await validator.stop();
    const { client, peerList } = await handshake();
    const known = await learnAll(client, peerList.claimedIpPorts, true);
    expect(nodeIDsOf(known)).not.toContain(validator.nodeID);
    await validator.start();
    expect(validator.address.timestamp > before.timestamp).toBe(true);
    const later = (await learnAll(client, known, true)).slice(known.length);
    expect(later.map(({ ipPort }) => ipPort)).toEqual([validator.address.port]);
  });
});
