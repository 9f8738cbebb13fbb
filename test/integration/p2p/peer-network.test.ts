import { createServer } from 'node:net';
import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import { MessageSchema } from '../../../src/p2p/gen/p2p_pb.js';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import type { PeerLimits } from '../../../src/p2p/peer-limits.ts';
import { createPeerNetwork, type PeerNetwork, type PeerNetworkOptions } from '../../../src/p2p/peer-network.ts';
import { encodeFrame, MAX_FRAME_LENGTH } from '../../../src/p2p/wire/frames.ts';
import { encodeMessage } from '../../../src/p2p/wire/messages.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type BlockchainID, type NodeID, parseId } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { NETWORK_ID, NODE_VERSION, TestNode, type TestNodeOptions, type TestSession } from './test-node.ts';

const C_CHAIN_ID = parseId<BlockchainID>('2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', 'C-Chain');
const never = new AbortController().signal;
const TICK_MS = 250;

let clock: FakeClock;
let cleanup: AsyncDisposableStack;
beforeEach(() => {
  clock = new FakeClock();
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function startNode(options: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  return cleanup.use(await TestNode.start({ clock, ...options }));
}

interface NetworkChange extends Partial<Omit<PeerNetworkOptions, 'limits'>> {
  readonly limits?: Partial<PeerLimits>;
}

function startNetwork(nodes: readonly TestNode[], change: NetworkChange = {}): PeerNetwork {
  return cleanup.use(
    createPeerNetwork({
      identity: createIdentity(),
      networkID: NETWORK_ID,
      clock,
      random: () => 0.5,
      logger: { debug: () => undefined, warn: () => undefined },
      metrics: createMetrics(new Registry()),
      nodeVersion: async () => NODE_VERSION,
      bootstrapPeers: async () => nodes.map((node) => node.endpoint),
      allowPrivateAddresses: true,
      ...change,
    }),
  );
}

const idsOf = (...nodes: readonly TestNode[]): Set<NodeID> => new Set(nodes.map((node) => node.nodeID));
const connected = (network: PeerNetwork, ...nodes: readonly TestNode[]): Promise<void> =>
  network.waitUntil(() => nodes.every((node) => network.isConnected(node.nodeID)), never);
/** Values of `lastFailure` before a connection ends. */
const NO_FAILURE_YET: ReadonlySet<string | undefined> = new Set([
  undefined,
  'still connecting',
  'no address known',
  'not dialled yet',
  'the node version of the network is not known: not received yet',
]);
async function failure(network: PeerNetwork, nodeID: NodeID): Promise<string | undefined> {
  await network.waitUntil(() => !NO_FAILURE_YET.has(network.lastFailure(nodeID)), never);
  return network.lastFailure(nodeID);
}
/** Resolves when the client has handled all earlier messages of the node. */
async function roundTrip(node: TestNode): Promise<void> {
  const { session } = node;
  const before = session.count('pong');
  session.send({ case: 'ping', value: { uptime: 100 } });
  await node.until(() => session.count('pong') > before);
}

describe('connecting', () => {
  it('connects to the bootstrap peers and sends the version and filter that nodes require', async () => {
    const nodes = await Promise.all([startNode(), startNode(), startNode()]);
    const network = startNetwork(nodes);
    network.want('primary', idsOf(...nodes));
    await connected(network, ...nodes);
    expect(network.stats()).toEqual({ connected: 3, turnedAway: 0, wanted: 3, knownAddresses: 3 });
    for (const node of nodes) {
      expect(network.lastFailure(node.nodeID)).toBeUndefined();
      expect(node.session.certificate.nodeID).toBe(network.nodeID);
      expect(node.session.handshake).toMatchObject({
        version: NODE_VERSION,
        address: { host: '0.0.0.0', port: 1 },
        allSubnets: true,
      });
      expect(node.session.handshake?.knownPeers).toBeDefined();
      await node.until(() => node.session.isReady);
    }
  });

  it('does not dial private addresses unless allowed', async () => {
    const node = await startNode();
    const network = startNetwork([node], { allowPrivateAddresses: false });
    network.want('l1', idsOf(node));
    await clock.advance(5_000);
    expect(network.lastFailure(node.nodeID)).toBe('its address is private');
    expect(node.sessionCount).toBe(0);
  });

  it('ignores reported addresses that are not dialable', async () => {
    const node = await startNode();
    const { nodeID } = createIdentity();
    const network = startNetwork([], {
      bootstrapPeers: async () => [
        { nodeID, host: '127.0.0.1', port: 0 },
        { nodeID, host: '127.0.0.1', port: 65_536 },
        { nodeID, host: 'no host\0', port: 1 },
        { nodeID, host: '', port: 1 },
        node.endpoint,
      ],
    });
    network.want('primary', new Set([nodeID, node.nodeID]));
    await connected(network, node);
    expect(network.lastFailure(nodeID)).toBe('no address known');
  });
});

describe('misbehaviour', () => {
  const zstd = (value: Uint8Array): Uint8Array =>
    toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } }));

  const cases: readonly [string, (session: TestSession) => void, RegExp][] = [
    [
      'a frame that is no protobuf',
      (session) => session.sendPayload(Uint8Array.of(0xff, 0xff, 0xff)),
      /not valid protobuf/,
    ],
    ['a broken zstd frame', (session) => session.sendPayload(zstd(Uint8Array.of(1, 2, 3, 4))), /not valid zstd/],
    [
      'a zstd bomb',
      (session) => session.sendPayload(zstd(zstdCompressSync(new Uint8Array(50_000_000)))),
      /expands to more/,
    ],
    [
      'an oversized frame',
      (session) => {
        const header = Buffer.alloc(4);
        header.writeUInt32BE(MAX_FRAME_LENGTH + 1);
        session.socket.write(header);
      },
      /at most 2097152/,
    ],
    ['a second Handshake', (session) => session.sendHandshake(), /second Handshake/],
    ['a cut connection', (session) => session.socket.destroy(), /connection lost/],
  ];

  it.each(cases)('%s ends the connection with a reason', async (_, misbehave, reason) => {
    const node = await startNode();
    const network = startNetwork([node]);
    network.want('l1', idsOf(node));
    await connected(network, node);
    misbehave(node.session);
    expect(await failure(network, node.nodeID)).toMatch(reason);
  });

  it('a flood of messages gets a limited share of time, and is handled completely', async () => {
    // Every reading of this clock takes half a millisecond.
    let readings = 0;
    const slowClock: Clock = {
      now: () => clock.now(),
      monotonicMs: () => {
        readings += 1;
        return clock.monotonicMs() + readings / 2;
      },
      after: (delayMs, callback) => clock.after(delayMs, callback),
      afterTurn: (callback) => clock.afterTurn(callback),
    };
    const flooding = await startNode();
    const polite = await startNode();
    const network = startNetwork([flooding, polite], { clock: slowClock });
    network.want('l1', idsOf(flooding, polite));
    await connected(network, flooding, polite);
    const ping = encodeFrame(encodeMessage({ case: 'ping', value: { uptime: 1 } }));
    flooding.session.socket.write(Buffer.concat(new Array<Uint8Array>(1_000).fill(ping)));
    await flooding.until(() => flooding.session.count('pong') > 0);
    await roundTrip(polite);
    await roundTrip(polite);
    expect(flooding.session.count('pong')).toBeLessThanOrEqual(101);
    for (let tick = 0; tick < 20 && flooding.session.count('pong') < 1_000; tick += 1) {
      const before = flooding.session.count('pong');
      await clock.advance(TICK_MS);
      await flooding.until(() => flooding.session.count('pong') > before);
    }
    await flooding.until(() => flooding.session.count('pong') === 1_000);
  });

  it('messages that a client does not serve are ignored', async () => {
    const node = await startNode();
    const network = startNetwork([node]);
    network.want('l1', idsOf(node));
    await connected(network, node);
    const chainId = new Uint8Array(32);
    node.session.send({ case: 'appRequest', value: { chainId, requestId: 2, deadline: 1n, appBytes: chainId } });
    node.session.send({ case: 'appGossip', value: { chainId, appBytes: chainId } });
    node.session.send({ case: 'appResponse', value: { chainId, requestId: 77, appBytes: chainId } });
    node.session.send({ case: 'pong', value: {} });
    node.session.send({ case: 'getPeerList', value: {} });
    node.session.sendPayload(new Uint8Array(0));
    node.session.sendPayload(Uint8Array.of(0x92, 0x01, 0x02, 0x08, 0x01));
    await roundTrip(node);
    expect(network.isConnected(node.nodeID)).toBe(true);
  });
});

describe('reconnecting', () => {
  it('reconnects when a node returns on its port', async () => {
    const node = await startNode();
    const { port, identity } = node;
    const network = startNetwork([node]);
    network.want('l1', idsOf(node));
    await connected(network, node);
    await clock.advance(10_000);
    await node[Symbol.asyncDispose]();
    await failure(network, node.nodeID);
    await clock.advance(250);
    await network.waitUntil(() => network.lastFailure(node.nodeID) === 'connection refused', never);
    const again = await startNode({ port, identity });
    await clock.advance(2_000);
    await connected(network, again);
    expect(again.sessionCount).toBe(1);
  });
});

describe('gossip', () => {
  it('finds wanted nodes through peers, many more than fit into one PeerList', async () => {
    const source = await startNode();
    const others = await Promise.all(Array.from({ length: 40 }, () => startNode()));
    source.known.push(...others.map((node) => node.signedAddress));
    const network = startNetwork([source]);
    network.want('primary', idsOf(source, ...others));
    await connected(network, ...others);
    expect(network.stats()).toEqual({ connected: 41, turnedAway: 0, wanted: 41, knownAddresses: 41 });
  });

  it('finds the new address of a node that moved', async () => {
    const source = await startNode();
    const node = await startNode();
    source.known.push(node.signedAddress);
    const network = startNetwork([source]);
    network.want('l1', idsOf(source, node));
    await connected(network, source, node);
    await clock.advance(10_000);

    await node[Symbol.asyncDispose]();
    await failure(network, node.nodeID);
    // The peers do not have it yet, and are asked again.
    await clock.advance(3_000);
    await source.until(() => source.session.count('getPeerList') >= 3);
    await roundTrip(source);
    const moved = await startNode({ identity: node.identity, signedAgeS: 1 });
    source.known.splice(0, 1, moved.signedAddress);
    await clock.advance(2_000);
    await connected(network, moved);
    expect(moved.sessionCount).toBe(1);
  });

  it('abandons a hanging dial when a newer address arrives', async () => {
    const mute = createServer(() => undefined);
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    cleanup.defer(() => void mute.close());
    const source = await startNode();
    const node = await startNode();
    const { port } = mute.address() as { port: number };
    const network = startNetwork([], {
      bootstrapPeers: async () => [source.endpoint, { nodeID: node.nodeID, host: '127.0.0.1', port }],
    });
    network.want('l1', idsOf(source, node));
    await connected(network, source);
    source.known.push(node.signedAddress);
    await clock.advance(2_000);
    await connected(network, node);
    expect(clock.monotonicMs()).toBeLessThan(10_000);
  });

  it('rejects an address without a valid signature, and an older one', async () => {
    const source = await startNode();
    const node = await startNode();
    const decoy = await startNode();
    source.known.push({ ...node.signedAddress, port: decoy.port });
    const network = startNetwork([source]);
    network.want('l1', idsOf(source, node));
    await connected(network, source);
    await clock.advance(1_000);
    await source.until(() => source.session.count('getPeerList') > 0);
    await roundTrip(source);
    expect(network.lastFailure(node.nodeID)).toBe('no address known');

    source.known.splice(0, 1, node.signedAddress);
    await clock.advance(2_000);
    await connected(network, node);
    // An older address with a valid signature does not replace the newer one.
    source.known.splice(0, 1, node.signAddressOf(decoy.port, 1_000));
    await clock.advance(10_000);
    node.dropAll();
    await failure(network, node.nodeID);
    await clock.advance(500);
    await connected(network, node);
    expect(decoy.sessionCount).toBe(0);
  });

  it('ignores an unrequested PeerList', async () => {
    const source = await startNode();
    const node = await startNode();
    const network = startNetwork([source]);
    network.want('l1', idsOf(source));
    await connected(network, source);
    await source.until(() => source.session.isReady);
    // The first request to this peer must expire.
    await clock.advance(11_000);
    source.known.push(node.signedAddress);
    const known = network.stats().knownAddresses;
    source.session.sendPeerList(undefined, true);
    await roundTrip(source);
    expect(network.stats().knownAddresses).toBe(known);
  });
});

describe('wanted nodes', () => {
  it('unwanted connections are closed after some minutes, except some sources of addresses', async () => {
    const nodes = await Promise.all(Array.from({ length: 8 }, () => startNode()));
    const network = startNetwork(nodes);
    network.want('a', idsOf(...nodes));
    network.want('b', idsOf(...nodes.slice(0, 2)));
    await connected(network, ...nodes);
    network.unwant('a');
    expect(network.stats()).toMatchObject({ connected: 8, wanted: 2 });
    await clock.advance(299_000);
    expect(network.stats().connected).toBe(8);
    await clock.advance(2_000);
    expect(network.stats().connected).toBe(7);
    await connected(network, ...nodes.slice(0, 2));
  });
});

describe('app requests', () => {
  const options = { timeoutMs: 3_000, signal: never };
  const bytes = Uint8Array.of(2, 7, 7);

  async function startPair(
    onAppRequest: TestNodeOptions['onAppRequest'],
    change: NetworkChange = {},
    answersPings = false,
  ) {
    const node = await startNode({ answersPings, ...(onAppRequest && { onAppRequest }) });
    const network = startNetwork([node], change);
    network.want('l1', idsOf(node));
    await connected(network, node);
    return { node, network };
  }

  it('have odd IDs and a deadline of at most 10 s, and get their own responses', async () => {
    const { node, network } = await startPair((session, { chainId, requestId, appBytes }) =>
      session.send(
        { case: 'appResponse', value: { chainId, requestId, appBytes: Uint8Array.of(...appBytes, requestId) } },
        'zstd',
      ),
    );
    const outcomes = await Promise.all(
      [0, 1, 2].map((index) => network.appRequest(node.nodeID, C_CHAIN_ID, Uint8Array.of(index), options)),
    );
    const seen = node.session.received.flatMap((message) => (message.case === 'appRequest' ? [message.value] : []));
    expect(seen.map((request) => request.requestId % 2)).toEqual([1, 1, 1]);
    expect(new Set(seen.map((request) => request.requestId)).size).toBe(3);
    expect(seen.map((request) => request.deadline)).toEqual([3_000_000_000n, 3_000_000_000n, 3_000_000_000n]);
    expect(outcomes).toEqual(
      seen.map(({ requestId }, index) => ({ kind: 'response', bytes: Uint8Array.of(index, requestId) })),
    );
    await network.appRequest(node.nodeID, C_CHAIN_ID, bytes, { ...options, timeoutMs: 60_000 });
    const last = node.session.received.at(-1);
    expect(last?.case === 'appRequest' && last.value.deadline).toBe(10_000_000_000n);
  });

  it('report an AppError with its code and the start of its text', async () => {
    const { node, network } = await startPair((session, { chainId, requestId }) =>
      session.send(
        { case: 'appError', value: { chainId, requestId, errorCode: -4, errorMessage: 'x'.repeat(5_000) } },
        'zstd',
      ),
    );
    expect(await network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options)).toEqual({
      kind: 'refused',
      code: -4,
      text: 'x'.repeat(512),
    });
  });
});
