import { once } from 'node:events';
import { createServer, type Server as NetServer } from 'node:net';
import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import type { PeerLimits } from '../../../src/p2p/connection/peer-limits.ts';
import { MessageSchema } from '../../../src/p2p/gen/p2p_pb.js';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import { createPeerNetwork, type PeerNetwork, type PeerNetworkOptions } from '../../../src/p2p/peer-network.ts';
import { encodeFrame, MAX_FRAME_LENGTH } from '../../../src/p2p/wire/frames.ts';
import { encodeMessage } from '../../../src/p2p/wire/messages.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type BlockchainID, type NodeID, P_CHAIN_ID, parseId } from '../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { NETWORK_ID, NODE_VERSION, TestNode, type TestNodeOptions, type TestSession } from './test-node.ts';

const C_CHAIN_ID = parseId<BlockchainID>('2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', 'C-Chain');
const never = new AbortController().signal;
/** How often the network looks at its clock. */
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
      logger: { debug: () => undefined, info: () => undefined, warn: () => undefined },
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
/** What is said of a node before anything went wrong. */
const NO_FAILURE_YET: ReadonlySet<string | undefined> = new Set([
  undefined,
  'still connecting',
  'no address known',
  'not dialled yet',
  'the node version of the network is not known: still asking',
]);
async function failure(network: PeerNetwork, nodeID: NodeID): Promise<string | undefined> {
  await network.waitUntil(() => !NO_FAILURE_YET.has(network.lastFailure(nodeID)), never);
  return network.lastFailure(nodeID);
}
/** Lets virtual time pass tick by tick until the condition holds, which must not depend on real I/O; says how long it took. */
async function passTimeUntil(condition: () => Promise<boolean>, maxMs: number): Promise<number> {
  for (let passedMs = 0; passedMs <= maxMs; passedMs += TICK_MS) {
    if (await condition()) return passedMs;
    await clock.advance(TICK_MS);
  }
  throw new Error(`did not come about within ${maxMs} ms`);
}

/** When this is over, the client has handled all that the node sent before. */
async function roundTrip(node: TestNode): Promise<void> {
  const { session } = node;
  const before = session.count('pong');
  session.send({ case: 'ping', value: { uptime: 100 } });
  await node.until(() => session.count('pong') > before);
}

describe('connecting', () => {
  it('gets ready with the first peers, and shows the version and filter that nodes ask for', async () => {
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

  it('learns from the first ones before anything is wanted', async () => {
    const nodes = await Promise.all(Array.from({ length: 7 }, () => startNode()));
    const network = startNetwork(nodes);
    await network.waitUntil(() => network.stats().connected === 5, never);
    await clock.advance(60_000);
    expect(network.stats().connected).toBe(5);
  });

  it('takes another NodeID at the address for a failure', async () => {
    const node = await startNode();
    const other = createIdentity().nodeID;
    const network = startNetwork([], { bootstrapPeers: async () => [{ ...node.endpoint, nodeID: other }] });
    network.want('primary', new Set([other]));
    expect(await failure(network, other)).toBe(`another node answers there: ${node.nodeID}`);
  });

  it('says that a node let us through TLS but not in', async () => {
    const node = await startNode({ onSession: (session) => session.socket.end() });
    const network = startNetwork([node]);
    network.want('l1', idsOf(node));
    expect(await failure(network, node.nodeID)).toBe('not admitted: closed without a handshake');
  });

  it('says that nobody listens', async () => {
    const node = await startNode();
    const { endpoint } = node;
    await node[Symbol.asyncDispose]();
    const network = startNetwork([], { bootstrapPeers: async () => [endpoint] });
    network.want('l1', idsOf(node));
    expect(await failure(network, node.nodeID)).toBe('connection refused');
  });

  it('does not dial private addresses where the configuration forbids it', async () => {
    const node = await startNode();
    const network = startNetwork([node], { allowPrivateAddresses: false });
    network.want('l1', idsOf(node));
    await clock.advance(5_000);
    expect(network.lastFailure(node.nodeID)).toBe('its address is private');
    expect(node.sessionCount).toBe(0);
  });

  it('knows no address where nobody reports one', async () => {
    const network = startNetwork([]);
    const { nodeID } = createIdentity();
    network.want('l1', new Set([nodeID]));
    await clock.advance(1_000);
    expect(network.lastFailure(nodeID)).toBe('no address known');
  });

  it('does not connect to itself', async () => {
    const identity = createIdentity();
    const node = await startNode({ identity });
    const network = startNetwork([node], { identity });
    network.want('primary', idsOf(node));
    await clock.advance(5_000);
    expect(network.lastFailure(node.nodeID)).toBe('this is our own NodeID');
    expect(network.stats().wanted).toBe(0);
    expect(node.sessionCount).toBe(0);
  });

  it('waits for the version, and asks for it again after a failure', async () => {
    const node = await startNode();
    let attempts = 0;
    const network = startNetwork([node], {
      nodeVersion: async () => {
        attempts += 1;
        if (attempts === 1) throw new Error('the API is down');
        return { major: 1, minor: 99, patch: 0 };
      },
    });
    network.want('primary', idsOf(node));
    await clock.advance(1_000);
    expect(network.lastFailure(node.nodeID)).toContain('the API is down');
    await clock.advance(2_000);
    await connected(network, node);
    expect(node.session.handshake?.version.minor).toBe(99);
  });

  it('passes over reported addresses that no socket takes', async () => {
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

  it('asks the API for first peers again after a failure', async () => {
    const node = await startNode();
    let attempts = 0;
    const network = startNetwork([node], {
      bootstrapPeers: async () => {
        attempts += 1;
        if (attempts < 3) throw new Error('the API is down');
        return [node.endpoint];
      },
    });
    network.want('primary', idsOf(node));
    await clock.advance(3_500);
    await connected(network, node);
    expect(attempts).toBe(3);
  });

  it('dials no more than it may at a time', async () => {
    const nodes = await Promise.all(Array.from({ length: 6 }, () => startNode()));
    const network = startNetwork(nodes, { limits: { dialsPerSecond: 4, maxConnections: 5 } });
    network.want('primary', idsOf(...nodes));
    await network.waitUntil(() => network.stats().connected === 4, never);
    await clock.advance(200);
    expect(network.stats().connected).toBe(4);
    await clock.advance(300);
    await network.waitUntil(() => network.stats().connected === 5, never);
    await clock.advance(10_000);
    expect(network.stats().connected).toBe(5);
    const [left] = nodes.filter((node) => !network.isConnected(node.nodeID));
    expect(network.lastFailure(left?.nodeID as NodeID)).toBe('too many connections');
  });
});

describe('own timers', () => {
  async function startMuteServer(): Promise<NetServer> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      cleanup.defer(() => void socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanup.defer(() => void server.close());
    return server;
  }

  it('give up a node that hangs in TLS, as a frozen one does', async () => {
    const server = await startMuteServer();
    const accepted = new Promise((resolve) => server.once('connection', resolve));
    const { nodeID } = createIdentity();
    const { port } = server.address() as { port: number };
    const network = startNetwork([], { bootstrapPeers: async () => [{ nodeID, host: '127.0.0.1', port }] });
    network.want('l1', new Set([nodeID]));
    await accepted;
    // The client's side of the same event.
    for (let turn = 0; turn < 10; turn += 1) await settle();
    await clock.advance(10_000);
    expect(network.lastFailure(nodeID)).toBe('no answer to TLS within 10000 ms');
  });

  it('give up a node that sends no Handshake, or does not confirm ours', async () => {
    const mute = await startNode({ onSession: () => undefined });
    const halfway = await startNode({ onSession: (session) => session.sendHandshake() });
    const network = startNetwork([mute, halfway]);
    network.want('l1', idsOf(mute, halfway));
    await Promise.all([mute, halfway].map((node) => node.until(() => node.sessions.size === 1)));
    await once(halfway.session.socket, 'data');
    await clock.advance(10_000);
    for (const node of [mute, halfway]) {
      expect(network.lastFailure(node.nodeID)).toBe('no complete handshake within 10000 ms');
    }
  });

  it('ping a quiet node, and close one that stays silent', async () => {
    const answering = await startNode();
    const node = await startNode({
      onSession: (session) => {
        session.serve();
        session.socket.once('data', () => session.socket.removeAllListeners('data').resume());
      },
    });
    const network = startNetwork([node, answering]);
    network.want('l1', idsOf(node, answering));
    await connected(network, node, answering);
    await clock.advance(12_000);
    await answering.until(() => answering.session.count('ping') === 1);
    await roundTrip(answering);
    await clock.advance(23_000);
    expect(network.lastFailure(node.nodeID)).toBe('silent for 35000 ms');
    expect(network.isConnected(answering.nodeID)).toBe(true);
  });

  it('leave no timer behind', async () => {
    const node = await startNode();
    const network = startNetwork([node]);
    network.want('l1', idsOf(node));
    await connected(network, node);
    await network[Symbol.asyncDispose]();
    await settle();
    expect(clock.pendingTimers).toBe(0);
    await node.until(() => node.sessions.size === 0);
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

  it('a flood of messages gets only its share of our time, and is handled later', async () => {
    // Every look at this clock takes half a millisecond.
    let looks = 0;
    const slowClock: Clock = {
      now: () => clock.now(),
      monotonicMs: () => {
        looks += 1;
        return clock.monotonicMs() + looks / 2;
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

  it('a Handshake of another network is refused', async () => {
    const node = await startNode({ onSession: (session) => session.sendHandshake({ networkID: 1 }) });
    const network = startNetwork([node]);
    network.want('l1', idsOf(node));
    expect(await failure(network, node.nodeID)).toBe('Handshake: is of network 1, ours is 12345');
  });

  it('what we cannot serve is ignored', async () => {
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
  it('redials a lasting connection at once, a flapping one with growing pauses', async () => {
    const node = await startNode();
    const registry = new Registry();
    const network = startNetwork([node], { metrics: createMetrics(registry) });
    network.want('l1', idsOf(node));
    await connected(network, node);
    await clock.advance(10_000);

    node.dropAll();
    await failure(network, node.nodeID);
    // The jitter is half of 500 ms.
    await clock.advance(250);
    await connected(network, node);

    const dials = async (): Promise<number | undefined> =>
      (await registry.getSingleMetric('signature_aggregator_peer_dials_total')?.get())?.values[0]?.value;
    const pausesMs: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      node.dropAll();
      await failure(network, node.nodeID);
      const before = await dials();
      pausesMs.push(await passTimeUntil(async () => (await dials()) !== before, 60_000));
      await connected(network, node);
    }
    // 1 s × 1.5 each time, seen at ticks of 250 ms.
    expect(pausesMs).toEqual([1_500, 2_250, 3_500, 5_250]);
  });

  it('comes back when a node returns on its port', async () => {
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
  it('finds wanted nodes that only peers know, many more than fit into one answer', async () => {
    const source = await startNode();
    const others = await Promise.all(Array.from({ length: 40 }, () => startNode()));
    source.known.push(...others.map((node) => node.signedAddress));
    const network = startNetwork([source]);
    network.want('primary', idsOf(source, ...others));
    await connected(network, ...others);
    expect(network.stats()).toEqual({ connected: 41, turnedAway: 0, wanted: 41, knownAddresses: 41 });
  });

  it('brings the new address of a node that moved', async () => {
    const source = await startNode();
    const node = await startNode();
    source.known.push(node.signedAddress);
    const network = startNetwork([source]);
    network.want('l1', idsOf(source, node));
    await connected(network, source, node);
    await clock.advance(10_000);

    await node[Symbol.asyncDispose]();
    await failure(network, node.nodeID);
    // Nobody knows it yet: the peers have nothing to answer, and are asked again.
    await clock.advance(3_000);
    await source.until(() => source.session.count('getPeerList') >= 3);
    await roundTrip(source);
    const moved = await startNode({ identity: node.identity, signedAgeS: 1 });
    source.known.splice(0, 1, moved.signedAddress);
    await clock.advance(2_000);
    await connected(network, moved);
    expect(moved.sessionCount).toBe(1);
  });

  it('gives up an address that hangs as soon as a newer one is known', async () => {
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

  it('believes no address that its node did not sign, nor an older one', async () => {
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
    // An older address, though well signed, replaces nothing: the node is found where it was after it broke off.
    source.known.splice(0, 1, node.signAddressOf(decoy.port, 1_000));
    await clock.advance(10_000);
    node.dropAll();
    await failure(network, node.nodeID);
    await clock.advance(500);
    await connected(network, node);
    expect(decoy.sessionCount).toBe(0);
  });

  it('ignores addresses nobody asked for', async () => {
    const source = await startNode();
    const node = await startNode();
    const network = startNetwork([source]);
    network.want('l1', idsOf(source));
    await connected(network, source);
    await source.until(() => source.session.isReady);
    // The first round asked this peer, too, and the first answer is therefore awaited.
    await clock.advance(11_000);
    source.known.push(node.signedAddress);
    const known = network.stats().knownAddresses;
    source.session.sendPeerList(undefined, true);
    await roundTrip(source);
    expect(network.stats().knownAddresses).toBe(known);
  });
});

describe('wishes', () => {
  it('close after some minutes what nobody wants any more, but for some sources', async () => {
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

  it('wait until something holds, or somebody loses patience', async () => {
    const node = await startNode();
    const network = startNetwork([node]);
    const controller = new AbortController();
    const impatient = network.waitUntil(() => false, controller.signal);
    const faulty = network.waitUntil(() => {
      if (network.isConnected(node.nodeID)) throw new Error('faulty');
      return false;
    }, never);
    const closed = network.waitUntil(() => false, never);
    const outcomes = Promise.allSettled([impatient, faulty, closed]);
    network.want('l1', idsOf(node));
    await connected(network, node);
    controller.abort(new Error('enough'));
    await settle();
    await network[Symbol.asyncDispose]();
    expect((await outcomes).map((outcome) => (outcome as PromiseRejectedResult).reason.message)).toEqual([
      'enough',
      'faulty',
      'the peer network is closed',
    ]);
    await expect(network.waitUntil(() => true, never)).rejects.toThrow('closed');
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

  it('have odd IDs and a deadline in nanoseconds of at most 10 s, and get their own answers', async () => {
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

  it('tell the error of a node with its code and text', async () => {
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

  it('time out by our own clock, and a late answer is nobody’s', async () => {
    let answerLate: (() => void) | undefined;
    const { node, network } = await startPair((session, { chainId, requestId }) => {
      answerLate ??= () => {
        session.send({ case: 'appResponse', value: { chainId, requestId, appBytes: bytes } });
        session.send({ case: 'ping', value: { uptime: 100 } });
      };
    });
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    await node.until(() => answerLate !== undefined);
    await clock.advance(3_000);
    expect(await outcome).toEqual({ kind: 'timed_out', reason: 'no_answer' });
    const second = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    answerLate?.();
    await node.until(() => node.session.count('pong') === 1);
    await clock.advance(3_000);
    expect(await second).toEqual({ kind: 'timed_out', reason: 'no_answer' });
    expect(await network.appRequest(node.nodeID, C_CHAIN_ID, bytes, { ...options, timeoutMs: 0 })).toEqual({
      kind: 'timed_out',
      reason: 'no_answer',
    });
  });

  it('tell the silence of a node that answers a Ping sent after them', async () => {
    const { node, network } = await startPair(undefined, {}, true);
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    await node.until(() => node.session.count('appRequest') === 1);
    await clock.advance(1_500);
    await node.until(() => node.session.count('ping') === 1);
    // The Pong to this one comes after the network has the node's own.
    node.session.send({ case: 'ping', value: { uptime: 100 } });
    await node.until(() => node.session.count('pong') === 1);
    await clock.advance(1_500);
    expect(await outcome).toEqual({ kind: 'timed_out', reason: 'request_dropped' });
  });

  it('take no answer for another chain', async () => {
    const { node, network } = await startPair((session, { requestId }) =>
      session.send({ case: 'appResponse', value: { chainId: new Uint8Array(32), requestId, appBytes: bytes } }),
    );
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    await node.until(() => node.session.count('appRequest') === 1);
    await clock.advance(3_000);
    expect(await outcome).toEqual({ kind: 'timed_out', reason: 'no_answer' });
    expect((await network.appRequest(node.nodeID, P_CHAIN_ID, bytes, options)).kind).toBe('response');
  });

  it('are unreachable where nobody is connected, or the connection ends', async () => {
    const { node, network } = await startPair(undefined);
    const { nodeID } = createIdentity();
    expect(await network.appRequest(nodeID, C_CHAIN_ID, bytes, options)).toEqual({
      kind: 'unreachable',
      reason: 'no address known',
    });
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    await node.until(() => node.session.count('appRequest') === 1);
    node.dropAll();
    expect(await outcome).toMatchObject({ kind: 'unreachable', reason: expect.stringMatching(/^connection lost/) });
  });

  it('reject only for their own signal', async () => {
    const { node, network } = await startPair(undefined);
    const controller = new AbortController();
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, { ...options, signal: controller.signal });
    await node.until(() => node.session.count('appRequest') === 1);
    controller.abort(new Error('not needed any more'));
    await expect(outcome).rejects.toThrow('not needed any more');
    await expect(
      network.appRequest(node.nodeID, C_CHAIN_ID, bytes, { ...options, signal: controller.signal }),
    ).rejects.toThrow('not needed any more');
    expect(clock.pendingTimers).toBe(1);
  });

  it('are bounded in number, and in the bytes that wait for a slow node', async () => {
    const { node, network } = await startPair(undefined, {
      limits: { maxPendingRequests: 2, maxSendQueueBytes: 1_000_000 },
    });
    node.session.socket.pause();
    const large = new Uint8Array(900_000);
    const first = network.appRequest(node.nodeID, C_CHAIN_ID, large, options);
    const second = await network.appRequest(node.nodeID, C_CHAIN_ID, large, options);
    expect(second).toEqual({ kind: 'not_asked', reason: 'queue_full' });
    const third = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    expect(await network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options)).toEqual({
      kind: 'not_asked',
      reason: 'queue_full',
    });
    await clock.advance(3_000);
    expect(await Promise.all([first, third])).toEqual([
      { kind: 'timed_out', reason: 'no_answer' },
      { kind: 'timed_out', reason: 'no_answer' },
    ]);
  });

  it('are counted', async () => {
    const registry = new Registry();
    const { node, network } = await startPair(undefined, { metrics: createMetrics(registry) });
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    await clock.advance(3_000);
    await outcome;
    const text = await registry.metrics();
    expect(text).toContain(
      'signature_aggregator_peer_app_request_duration_seconds_count{outcome="timed_out",reason="no_answer"} 1',
    );
    expect(text).toContain('signature_aggregator_peer_connections 1');
    expect(text).toMatch(/signature_aggregator_peer_traffic_bytes_total\{direction="sent"\} \d{3}/);
  });
});
