import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { Registry } from 'prom-client';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import type { AppOutcome } from '../../../src/p2p/connection/app-requests.ts';
import { MessageSchema } from '../../../src/p2p/gen/p2p_pb.js';
import { createIdentity, type Identity } from '../../../src/p2p/identity/identity.ts';
import { openPeerNetwork } from '../../../src/p2p/open-peer-network.ts';
import type { PeerNetwork, PeerNetworkOptions } from '../../../src/p2p/peer-network.ts';
import { encodeFrame, MAX_FRAME_LENGTH } from '../../../src/p2p/wire/frames.ts';
import type { Endpoint } from '../../../src/p2p/wire/ip-address.ts';
import { encodeMessage } from '../../../src/p2p/wire/messages.ts';
import { encodeClaimedIpPort, signAddress } from '../../../src/p2p/wire/signed-address.ts';
import { createMetrics, createUnreadMetrics } from '../../../src/telemetry/metrics.ts';
import { type BlockchainID, type NodeID, parseId } from '../../../src/warp/ids.ts';
import { Draws } from '../../simulation/draws.ts';
import { SimulatedEnd, SimulatedNet } from '../../simulation/simulated-net.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { MemoryNode, type MemoryNodeOptions, NODE_VERSION } from './memory-node.ts';

const C_CHAIN_ID = parseId<BlockchainID>('2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', 'C-Chain');
const NETWORK_ID = 12_345;
const TICK_MS = 250;
/** One way. */
const LATENCY_MS = 5;
const FAULTS = { latencyMs: [LATENCY_MS, LATENCY_MS], stall: 0, cut: 0, split: 0 } as const;
const never = new AbortController().signal;
const options = { timeoutMs: 3_000, signal: never };
const bytes = Uint8Array.of(2, 7, 7);

/** Peer network over connections in memory and virtual time. */
class World {
  readonly clock = new FakeClock();
  readonly net = new SimulatedNet(this.clock, new Draws('peer network'), FAULTS);
  readonly identity = createIdentity();

  node(change: Partial<MemoryNodeOptions> & { host: string }): MemoryNode {
    return new MemoryNode(this.net, this.clock, { networkID: NETWORK_ID, client: this.identity, ...change });
  }

  network(nodes: readonly MemoryNode[], change: Partial<PeerNetworkOptions> = {}): PeerNetwork {
    return openPeerNetwork({
      identity: this.identity,
      networkID: NETWORK_ID,
      clock: this.clock,
      random: () => 0.5,
      logger: { debug: () => undefined, warn: () => undefined },
      metrics: createUnreadMetrics(),
      nodeVersion: async () => NODE_VERSION,
      bootstrapPeers: async () => nodes.map(({ endpoint }) => endpoint),
      allowPrivateAddresses: true,
      dial: this.net.dial,
      ...change,
    });
  }

  /** @param hosts last parts of their addresses */
  nodes(...hosts: readonly number[]): MemoryNode[] {
    return hosts.map((host) => this.node({ host: `10.0.0.${host}` }));
  }

  answerAt(endpoint: Endpoint, answer: 'vanish' | 'freeze'): void {
    this.net.listen(endpoint, { answer: () => answer, certificate: undefined, accept: () => undefined });
  }

  async connected(...nodes: readonly MemoryNode[]): Promise<PeerNetwork> {
    const network = this.network(nodes);
    network.want('l1', idsOf(...nodes));
    await this.clock.advance(100);
    for (const { nodeID } of nodes) {
      if (!network.isConnected(nodeID)) throw new Error(`not connected: ${network.lastFailure(nodeID)}`);
    }
    return network;
  }
}

const idsOf = (...nodes: readonly MemoryNode[]): Set<NodeID> => new Set(nodes.map(({ nodeID }) => nodeID));

let world: World;
beforeEach(() => {
  world = new World();
});

it('a connection gets ready within the round trips of TCP, TLS and the two Handshakes', async () => {
  const node = world.node({ host: '10.0.0.1', clientName: 'x'.repeat(200_000) });
  const network = world.network([node]);
  let readyAtMs: number | undefined;
  void network
    .waitUntil(() => network.isConnected(node.nodeID), never)
    .then(() => {
      readyAtMs = world.clock.monotonicMs();
    });
  network.want('l1', idsOf(node));
  await world.clock.advance(1_000);
  expect(readyAtMs).toBe(7 * LATENCY_MS);
  expect(network.describe(node.nodeID).client).toEqual({
    name: 'x'.repeat(64),
    version: NODE_VERSION,
    clockOffsetMs: -5 * LATENCY_MS,
  });
  expect(node.handshake).toMatchObject({ version: NODE_VERSION, address: { host: '0.0.0.0', port: 1 } });
  expect(network.stats()).toEqual({ connected: 1, turnedAway: 0, wanted: 1, knownAddresses: 1 });
  await network[Symbol.asyncDispose]();
});

it('a connection carries an app request and its response', async () => {
  const node = world.node({
    host: '10.0.0.1',
    onAppRequest: (scripted, { chainId, requestId, appBytes }) =>
      scripted.send({ case: 'appResponse', value: { chainId, requestId, appBytes } }),
  });
  const network = await world.connected(node);
  const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
  await world.clock.advance(2 * LATENCY_MS);
  expect(await outcome).toEqual({ kind: 'response', bytes });
  void network.appRequest(node.nodeID, C_CHAIN_ID, bytes, { ...options, timeoutMs: 60_000 });
  await world.clock.advance(LATENCY_MS);
  const seen = node.received.flatMap((message) => (message.case === 'appRequest' ? [message.value] : []));
  // Nanoseconds. Nodes accept at most 10 s.
  expect(seen.map(({ deadline }) => deadline)).toEqual([3_000_000_000n, 10_000_000_000n]);
});

it('a request distinguishes refused, silent, ignored and unreachable', async () => {
  const refusing = world.node({
    host: '10.0.0.1',
    onAppRequest: (scripted, { chainId, requestId }) =>
      scripted.send({
        case: 'appError',
        value: { chainId, requestId, errorCode: -2, errorMessage: 'x'.repeat(5_000) },
      }),
  });
  const silent = world.node({ host: '10.0.0.2' });
  const ignoring = world.node({ host: '10.0.0.3' });
  const breaking = world.node({ host: '10.0.0.4', onAppRequest: (scripted) => scripted.end?.close() });
  silent.answersPings = false;
  const nodes = [refusing, silent, ignoring, breaking];
  const network = await world.connected(...nodes);
  const { nodeID: unknown } = createIdentity();
  const asked = [...nodes.map(({ nodeID }) => nodeID), unknown];
  const outcomes = Promise.all(asked.map((nodeID) => network.appRequest(nodeID, C_CHAIN_ID, bytes, options)));
  await world.clock.advance(3_000);
  expect(await outcomes).toEqual([
    { kind: 'refused', code: -2, text: 'x'.repeat(300) },
    { kind: 'timed_out', reason: 'no_answer' },
    { kind: 'timed_out', reason: 'request_dropped' },
    { kind: 'unreachable', reason: 'connection lost: closed by the node' },
    { kind: 'unreachable', reason: 'no address known' },
  ] satisfies AppOutcome[]);
});

it('a connection is closed by deadlines at each stage', async () => {
  const mute = world.node({ host: '10.0.0.9', onAccept: () => undefined });
  const [vanish, frozen, refuses, gone] = world.nodes(1, 2, 3, 4) as [MemoryNode, MemoryNode, MemoryNode, MemoryNode];
  const nodes = [vanish, frozen, mute, refuses, gone];
  world.answerAt(vanish.endpoint, 'vanish');
  world.answerAt(frozen.endpoint, 'freeze');
  world.net.listen(refuses.endpoint, {
    answer: () => 'accept',
    certificate: refuses.identity.certificate.der,
    accept: (end) => end.close(),
  });
  gone.stop();
  const network = world.network(nodes);
  network.want('l1', idsOf(...nodes));
  await world.clock.advance(10_000 + TICK_MS);
  expect(nodes.map(({ nodeID }) => network.lastFailure(nodeID))).toEqual([
    'no answer to TCP within 10000 ms',
    'no answer to TLS within 10000 ms',
    'no complete handshake within 10000 ms',
    'not admitted: closed without a handshake',
    'connection refused',
  ]);
  expect(mute.acceptCount).toBe(1);
});

it('a connection is closed for a certificate that is missing, invalid, or another node’s', async () => {
  const nodes = world.nodes(1, 2, 3);
  const other = createIdentity();
  const shown = [undefined, Uint8Array.of(0x30, 0), other.certificate.der];
  nodes.forEach(({ endpoint }, index) =>
    world.net.listen(endpoint, { answer: () => 'accept', certificate: shown[index], accept: () => undefined }),
  );
  const network = world.network(nodes);
  network.want('l1', idsOf(...nodes));
  await world.clock.advance(100);
  expect(nodes.map(({ nodeID }) => network.lastFailure(nodeID))).toEqual([
    'staking certificate: is missing',
    expect.stringMatching(/^staking certificate: /),
    `another node answers there: ${other.nodeID}`,
  ]);
});

it('a connection is pinged when idle, closed when silent, and dialled again', async () => {
  const node = world.node({ host: '10.0.0.1' });
  const network = await world.connected(node);
  await world.clock.advance(30_000);
  expect(node.count('ping')).toBe(2);
  node.answersPings = false;
  await world.clock.advance(35_000);
  expect(node.count('ping')).toBe(4);
  expect(node.acceptCount).toBe(2);
  expect(network.isConnected(node.nodeID)).toBe(true);
});

it('the send queue is bounded while the node does not read', async () => {
  const node = world.node({ host: '10.0.0.1' });
  const network = world.network([node], { limits: { maxSendQueueBytes: 1_000 } });
  network.want('l1', idsOf(node));
  await world.clock.advance(100);
  node.end?.pause();
  const large = new Uint8Array(800);
  const first = network.appRequest(node.nodeID, C_CHAIN_ID, large, options);
  expect(await network.appRequest(node.nodeID, C_CHAIN_ID, large, options)).toEqual({
    kind: 'not_asked',
    reason: 'queue_full',
  });
  await world.clock.advance(3_000);
  expect(await first).toEqual({ kind: 'timed_out', reason: 'no_answer' });
});

it('a long request is sent to several nodes without copies', async () => {
  const nodes = world.nodes(1, 2);
  const network = await world.connected(...nodes);
  const written: Uint8Array[] = [];
  const write = vi.spyOn(SimulatedEnd.prototype, 'write').mockImplementation((chunk) => void written.push(chunk));
  const long = new Uint8Array(200_000).fill(7);
  const outcomes = nodes.map(({ nodeID }) => network.appRequest(nodeID, C_CHAIN_ID, long, options));
  write.mockRestore();
  expect(written.filter((chunk) => chunk === long)).toHaveLength(2);
  expect(written.reduce((sum, chunk) => sum + (chunk === long ? 0 : chunk.length), 0)).toBeLessThan(200);
  await world.clock.advance(3_000);
  expect(await Promise.all(outcomes)).toEqual([
    { kind: 'timed_out', reason: 'request_dropped' },
    { kind: 'timed_out', reason: 'request_dropped' },
  ]);
});

it('a connection ends with the network, which leaves no timer', async () => {
  const node = world.node({ host: '10.0.0.1' });
  const registry = new Registry();
  const network = world.network([node], { metrics: createMetrics(registry) });
  network.want('l1', idsOf(node));
  // Ready, and before the next tick.
  await world.clock.advance(TICK_MS - 1);
  const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
  await network[Symbol.asyncDispose]();
  expect(await outcome).toEqual({ kind: 'unreachable', reason: 'we are shutting down' });
  expect(await registry.metrics()).toMatch(/peer_traffic_bytes_total\{direction="sent"\} \d{3}/);
  await world.clock.advance(LATENCY_MS);
  await settle();
  expect(node.end?.isOver).toBe(true);
  expect(world.clock.pendingTimers).toBe(0);
  const dials = world.net.dials;
  await world.clock.advance(60_000);
  expect(world.net.dials).toBe(dials);
});

it('the network continues dialling at once', async () => {
  const nodes = world.nodes(...Array(70).keys());
  world.network(nodes, { limits: { dialsPerSecond: 100 } }).want('l1', idsOf(...nodes));
  await world.clock.advance(0);
  expect(world.net.dials).toBe(70);
});

it('the network refreshes the node version after a refused Handshake', async () => {
  const asked: number[] = [];
  const refusing = world.node({
    host: '10.0.0.1',
    onAccept: (end) => {
      end.listen({ onData: () => end.close(), onEnd: () => undefined });
      refusing.sendHandshake();
    },
  });
  const nodeVersion = async () => {
    asked.push(world.clock.monotonicMs());
    return { ...NODE_VERSION, minor: 14 + asked.length };
  };
  const network = world.network([refusing], { nodeVersion });
  network.want('l1', new Set([refusing.nodeID]));
  await world.clock.advance(2_250);
  expect(network.lastFailure(refusing.nodeID)).toBe('our handshake was refused: closed by the node');
  expect(asked).toEqual([0, 2_000]);
});

it('the network searches often again when a node is newly wanted or lost', async () => {
  const node = world.node({ host: '10.0.0.1' });
  const network = await world.connected(node);
  const questions = (): number => node.count('getPeerList');
  network.want('l2', new Set([createIdentity().nodeID]));
  // Requests are 30 s apart by now.
  await world.clock.advance(600_000);
  const before = questions();
  network.want('l3', new Set([createIdentity().nodeID]));
  await world.clock.advance(5_000);
  expect(questions() - before).toBeGreaterThanOrEqual(8);

  await world.clock.advance(600_000);
  node.end?.close();
  await world.clock.advance(500);
  const again = questions();
  await world.clock.advance(5_000);
  expect(questions() - again).toBeGreaterThanOrEqual(8);
});

it('the network requests more addresses at once after addresses of new nodes, but not after newer ones of known nodes', async () => {
  const others = Array.from({ length: 20 }, () => createIdentity());
  let given = 0;
  const addressOf = (identity: Identity, timestamp: number) =>
    encodeClaimedIpPort(signAddress(identity, { host: '10.0.0.2', port: 9_651, timestamp: BigInt(timestamp) }));
  const node = world.node({
    host: '10.0.0.1',
    onGetPeerList: (scripted) => {
      given += 1;
      // Each of the others once, and then one of them over and over.
      const identity = others[Math.min(given, others.length) - 1] as Identity;
      scripted.send({ case: 'peerList', value: { claimedIpPorts: [addressOf(identity, given)] } });
    },
  });
  const network = await world.connected(node);
  network.want('l2', new Set([createIdentity().nodeID]));
  await world.clock.advance(1_000);
  expect(given).toBeGreaterThan(others.length);
  const before = given;
  await world.clock.advance(5_000);
  expect(given - before).toBeLessThanOrEqual(12);
  await network[Symbol.asyncDispose]();
});

it('the network requests bootstrap peers again on demand, also during a request', async () => {
  const [early, late] = ['10.0.0.1', '10.0.0.2'].map((host) => world.node({ host })) as [MemoryNode, MemoryNode];
  const answers: ((peers: MemoryNode[]) => void)[] = [];
  const bootstrapPeers = () =>
    new Promise<MemoryNode[]>((resolve) => void answers.push(resolve)).then((peers) =>
      peers.map(({ endpoint }) => endpoint),
    );
  const network = world.network([], { bootstrapPeers });
  network.want('l1', new Set([early.nodeID]));
  await world.clock.advance(TICK_MS);
  network.bootstrapAgain();
  answers[0]?.([early]);
  await world.clock.advance(TICK_MS);
  expect(answers).toHaveLength(2);
  answers[1]?.([early]);
  await world.clock.advance(600_000);
  expect(answers).toHaveLength(2);
  network.bootstrapAgain();
  await world.clock.advance(TICK_MS);
  answers[2]?.([early, late]);
  await world.clock.advance(TICK_MS);
  expect(network.stats().knownAddresses).toBe(2);
  await network[Symbol.asyncDispose]();
});

it('the network requests bootstrap peers with doubled pauses while the API fails', async () => {
  const asked: number[] = [];
  const network = world.network([], {
    bootstrapPeers: () => {
      asked.push(world.clock.monotonicMs());
      return Promise.reject(new Error('the API is down'));
    },
  });
  await world.clock.advance(100_000);
  expect(asked).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000]);
  await network[Symbol.asyncDispose]();
});

it('a node that is not connected has a cause and a reason', async () => {
  const [node, other] = world.nodes(1, 2) as [MemoryNode, MemoryNode];
  const { nodeID: unknown } = createIdentity();
  const obstacles = async (change: Partial<PeerNetworkOptions>, ms = 1_000) => {
    const network = world.network([node, other], change);
    network.want('l1', new Set([world.identity.nodeID, node.nodeID, unknown]));
    await world.clock.advance(ms);
    const found = [world.identity.nodeID, node.nodeID, unknown].map(
      (nodeID) => network.describe(nodeID).obstacle?.cause,
    );
    const reason = network.lastFailure(node.nodeID);
    await network[Symbol.asyncDispose]();
    return [...found, reason];
  };
  expect(await obstacles({})).toEqual(['own_node', undefined, 'no_address', undefined]);
  expect(await obstacles({}, 2 * LATENCY_MS)).toEqual(['own_node', 'connecting', 'no_address', 'still connecting']);
  expect(await obstacles({ allowPrivateAddresses: false })).toEqual([
    'own_node',
    'private_address',
    'no_address',
    'its address is private',
  ]);
  expect(await obstacles({ nodeVersion: () => new Promise(() => undefined) })).toEqual([
    'own_node',
    'version_unknown',
    'no_address',
    'the node version of the network was not received yet',
  ]);
  expect(await obstacles({ limits: { maxConnections: 0 } })).toEqual([
    'own_node',
    'no_room',
    'no_address',
    'too many connections',
  ]);
});

it.each<[string, (node: MemoryNode) => Partial<PeerNetworkOptions>, object]>([
  [
    'nothing listens at its address',
    (node) => {
      node.stop();
      return {};
    },
    { cause: 'tcp_refused', reason: 'connection refused' },
  ],
  [
    'it belongs to another network',
    () => ({ networkID: 5 }),
    { cause: 'other_network', reason: 'Handshake: belongs to network 12345, ours is 5' },
  ],
  [
    'its clock is two minutes ahead of ours',
    () => ({ clock: behind(world.clock, 121_000) }),
    { cause: 'clock', reason: 'Handshake: shows a clock that is 121 s off ours', clockOffsetMs: 120_975 },
  ],
  [
    'it refuses an older version than its own',
    () => ({ nodeVersion: async () => ({ major: 1, minor: 13, patch: 5 }) }),
    {
      cause: 'version',
      reason: 'our handshake was refused: closed by the node; it runs 1.14.2, and we announce 1.13.5',
    },
  ],
  [
    'it refuses its own version',
    () => ({}),
    { cause: 'handshake', reason: 'our handshake was refused: closed by the node' },
  ],
])('a node that is not connected has its cause where %s', async (_, change, expected) => {
  const node: MemoryNode = world.node({
    host: '10.0.0.1',
    onAccept(end) {
      end.listen({ onData: () => end.close(), onEnd: () => undefined });
      node.sendHandshake();
    },
  });
  const network = world.network([node], change(node));
  network.want('l1', idsOf(node));
  await world.clock.advance(500);
  expect(network.obstacle(node.nodeID)).toEqual(expected);
});

/** Clock whose time of day is behind. */
function behind(clock: FakeClock, ms: number): Clock {
  return {
    now: () => clock.now() - ms,
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
    afterTurn: (callback) => clock.afterTurn(callback),
  };
}

it('a node that is not connected keeps the reason of its last connection while it is dialled again', async () => {
  const [node] = world.nodes(1) as [MemoryNode];
  world.net.listen(node.endpoint, { answer: () => 'accept', certificate: undefined, accept: () => undefined });
  const network = world.network([node]);
  network.want('l1', idsOf(node));
  await world.clock.advance(100);
  world.answerAt(node.endpoint, 'freeze');
  await world.clock.advance(5_000);
  expect(network.describe(node.nodeID).obstacle).toEqual({ cause: 'tls', reason: 'staking certificate: is missing' });
  node.start();
  await world.clock.advance(20_000);
  expect(network.isConnected(node.nodeID)).toBe(true);
});

it('a node that is not connected has no address where the reported ones cannot be dialled', async () => {
  const { nodeID } = createIdentity();
  const network = world.network([], { bootstrapPeers: async () => [{ nodeID, host: 'no host\0', port: 1 }] });
  network.want('l1', new Set([nodeID]));
  await world.clock.advance(1_000);
  expect(network.lastFailure(nodeID)).toBe('no address known');
});

const zstd = (value: Uint8Array): Uint8Array =>
  toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } }));
const oversized = Buffer.alloc(4);
oversized.writeUInt32BE(MAX_FRAME_LENGTH + 1);

it.each<[string, (node: MemoryNode) => void, RegExp]>([
  ['a frame that is no protobuf', (node) => node.sendPayload(Uint8Array.of(0xff, 0xff, 0xff)), /not valid protobuf/],
  ['a broken zstd frame', (node) => node.sendPayload(zstd(Uint8Array.of(1, 2, 3, 4))), /not valid zstd/],
  ['a zstd bomb', (node) => node.sendPayload(zstd(zstdCompressSync(new Uint8Array(50_000_000)))), /expands to more/],
  ['an oversized frame', (node) => node.end?.write(oversized), /at most 2097152/],
  ['a second Handshake', (node) => node.sendHandshake(), /second Handshake/],
])('%s ends the connection with a reason', async (_, misbehave, reason) => {
  const [node] = world.nodes(1) as [MemoryNode];
  const network = await world.connected(node);
  misbehave(node);
  await world.clock.advance(2 * LATENCY_MS);
  expect(network.lastFailure(node.nodeID)).toMatch(reason);
});

/** Connects to a node that sends many Pings, and to another. */
async function floodWithPings(count: number) {
  // Every reading of this clock takes half a millisecond.
  let readings = 0;
  const { clock } = world;
  const slowClock: Clock = {
    now: () => clock.now(),
    monotonicMs: () => {
      readings += 1;
      return clock.monotonicMs() + readings / 2;
    },
    after: (delayMs, callback) => clock.after(delayMs, callback),
    afterTurn: (callback) => clock.afterTurn(callback),
  };
  const [flooding, polite] = world.nodes(1, 2) as [MemoryNode, MemoryNode];
  const network = world.network([flooding, polite], { clock: slowClock });
  network.want('l1', idsOf(flooding, polite));
  await clock.advance(TICK_MS);
  const ping = encodeFrame(encodeMessage({ case: 'ping', value: { uptime: 1 } }));
  flooding.end?.write(Buffer.concat(new Array<Uint8Array>(count).fill(ping)));
  polite.send({ case: 'ping', value: { uptime: 1 } });
  await clock.advance(3 * LATENCY_MS);
  expect(polite.count('pong')).toBe(1);
  return { network, flooding, polite };
}

it('many messages get a limited share of time, and are handled completely', async () => {
  const { network, flooding } = await floodWithPings(40);
  expect(flooding.count('pong')).toBeGreaterThan(0);
  expect(flooding.count('pong')).toBeLessThanOrEqual(14);
  await world.clock.advance(15 * TICK_MS);
  expect(flooding.count('pong')).toBe(40);
  expect(network.isConnected(flooding.nodeID)).toBe(true);
});

it('a peer that floods for three seconds is disconnected, and dialled again later', async () => {
  const { network, flooding, polite } = await floodWithPings(1_000);
  await world.clock.advance(10 * TICK_MS);
  expect(network.isConnected(flooding.nodeID)).toBe(true);
  await world.clock.advance(4 * TICK_MS);
  expect(network.obstacle(flooding.nodeID)).toMatchObject({
    cause: 'flood',
    reason: 'sent too many messages that we did not request',
  });
  expect(network.isConnected(polite.nodeID)).toBe(true);
  await world.clock.advance(10_000);
  expect(network.isConnected(flooding.nodeID)).toBe(true);
});

it('messages that a client does not serve are ignored', async () => {
  const [node] = world.nodes(1) as [MemoryNode];
  const network = await world.connected(node);
  const chainId = new Uint8Array(32);
  node.send({ case: 'appRequest', value: { chainId, requestId: 2, deadline: 1n, appBytes: chainId } });
  node.send({ case: 'appGossip', value: { chainId, appBytes: chainId } });
  node.send({ case: 'appResponse', value: { chainId, requestId: 77, appBytes: chainId } });
  node.send({ case: 'pong', value: {} });
  node.send({ case: 'getPeerList', value: {} });
  node.sendPayload(new Uint8Array(0));
  node.sendPayload(Uint8Array.of(0x92, 0x01, 0x02, 0x08, 0x01));
  node.send({ case: 'ping', value: { uptime: 100 } });
  await world.clock.advance(2 * LATENCY_MS);
  expect([network.isConnected(node.nodeID), node.count('pong')]).toEqual([true, 1]);
});

it('gossip finds wanted nodes through peers, many more than fit into one PeerList', async () => {
  const [source, ...others] = world.nodes(...Array(41).keys()) as [MemoryNode];
  source.known.push(...(others as MemoryNode[]).map((node) => node.signAddress()));
  const network = world.network([source]);
  network.want('primary', idsOf(source, ...others));
  await world.clock.advance(5_000);
  expect(network.stats()).toEqual({ connected: 41, turnedAway: 0, wanted: 41, knownAddresses: 41 });
});

it('gossip abandons a hanging dial when a newer address arrives', async () => {
  const [source, node] = world.nodes(1, 2) as [MemoryNode, MemoryNode];
  const hanging = { nodeID: node.nodeID, host: '10.0.0.9', port: 1 };
  world.answerAt(hanging, 'freeze');
  const network = world.network([], { bootstrapPeers: async () => [source.endpoint, hanging] });
  network.want('l1', idsOf(source, node));
  await world.clock.advance(1_000);
  source.known.push(node.signAddress());
  await world.clock.advance(2_000);
  expect(network.isConnected(node.nodeID)).toBe(true);
});

it('a node is dialled in turn at the address that it has signed and at the reported one', async () => {
  const [source, node] = world.nodes(1, 2) as [MemoryNode, MemoryNode];
  const dead = { ...node.signAddress(), host: '10.0.0.9', port: 1 };
  world.answerAt(dead, 'vanish');
  source.known.push(signAddress(node.identity, dead));
  const peers = [source.endpoint];
  const network = world.network([], { bootstrapPeers: async () => [...peers] });
  network.want('l1', idsOf(source, node));
  await world.clock.advance(2_000);
  expect(network.endpoints(node.nodeID)).toMatchObject([{ host: '10.0.0.9' }]);
  peers.push(node.endpoint);
  network.bootstrapAgain();
  await world.clock.advance(30_000);
  expect(network.isConnected(node.nodeID)).toBe(true);
});

it('gossip rejects an address without a valid signature, an older one, and an unrequested PeerList', async () => {
  const [source, node, decoy] = world.nodes(1, 2, 3) as [MemoryNode, MemoryNode, MemoryNode];
  const signed = node.signAddress();
  source.known.push({ ...signed, host: decoy.endpoint.host });
  const network = world.network([source]);
  network.want('l1', idsOf(source, node));
  await world.clock.advance(1_000);
  expect(source.count('getPeerList')).toBeGreaterThan(0);
  expect(network.lastFailure(node.nodeID)).toBe('no address known');
  source.known.splice(0, 1, signed);
  await world.clock.advance(2_000);
  expect(network.isConnected(node.nodeID)).toBe(true);

  const older = { ...decoy.endpoint, timestamp: signed.timestamp - 900n };
  source.known.splice(0, 1, signAddress(node.identity, older));
  await world.clock.advance(10_000);
  node.end?.close();
  await world.clock.advance(1_000);
  expect(network.isConnected(node.nodeID)).toBe(true);
  expect(decoy.acceptCount).toBe(0);

  // The last request has ended.
  await world.clock.advance(10_000);
  source.known.splice(0, 1, decoy.signAddress());
  source.sendKnown();
  await world.clock.advance(2 * LATENCY_MS);
  expect(network.stats().knownAddresses).toBe(2);
});

it('unwanted connections are closed after some minutes, except some sources of addresses', async () => {
  const nodes = world.nodes(1, 2, 3, 4, 5, 6, 7, 8);
  const network = await world.connected(...nodes);
  network.want('l2', idsOf(...nodes.slice(0, 2)));
  network.unwant('l1');
  expect(network.stats()).toMatchObject({ connected: 8, wanted: 2 });
  await world.clock.advance(299_000);
  expect(network.stats().connected).toBe(8);
  await world.clock.advance(2_000);
  expect(network.stats().connected).toBe(7);
  expect(nodes.slice(0, 2).every(({ nodeID }) => network.isConnected(nodeID))).toBe(true);
});
