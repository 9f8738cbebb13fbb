import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { AppOutcome } from '../../../src/p2p/connection/app-requests.ts';
import { createIdentity, type Identity } from '../../../src/p2p/identity/identity.ts';
import { createPeerNetwork, type PeerNetwork, type PeerNetworkOptions } from '../../../src/p2p/peer-network.ts';
import { encodeClaimedIpPort, signAddress } from '../../../src/p2p/wire/signed-address.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type BlockchainID, parseId } from '../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { LATENCY_MS, MemoryEnd, MemoryNet } from './memory-net.ts';
import { MemoryNode, type MemoryNodeOptions, NODE_VERSION } from './memory-node.ts';

const C_CHAIN_ID = parseId<BlockchainID>('2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', 'C-Chain');
const NETWORK_ID = 12_345;
const TICK_MS = 250;
const never = new AbortController().signal;
const options = { timeoutMs: 3_000, signal: never };
const bytes = Uint8Array.of(2, 7, 7);

/** Peer network over connections in memory and virtual time. */
class World {
  readonly clock = new FakeClock();
  readonly net = new MemoryNet(this.clock);
  readonly identity = createIdentity();

  node(change: Partial<MemoryNodeOptions> & { host: string }): MemoryNode {
    return new MemoryNode(this.net, this.clock, { networkID: NETWORK_ID, ...change });
  }

  network(nodes: readonly MemoryNode[], change: Partial<PeerNetworkOptions> = {}): PeerNetwork {
    return createPeerNetwork({
      identity: this.identity,
      networkID: NETWORK_ID,
      clock: this.clock,
      random: () => 0.5,
      logger: { debug: () => undefined, warn: () => undefined },
      metrics: createMetrics(new Registry()),
      nodeVersion: async () => NODE_VERSION,
      bootstrapPeers: async () => nodes.map(({ endpoint }) => endpoint),
      allowPrivateAddresses: true,
      dial: this.net.dialAs(this.identity),
      ...change,
    });
  }

  async connected(...nodes: readonly MemoryNode[]): Promise<PeerNetwork> {
    const network = this.network(nodes);
    network.want('l1', new Set(nodes.map(({ nodeID }) => nodeID)));
    await this.clock.advance(100);
    for (const { nodeID } of nodes) {
      if (!network.isConnected(nodeID)) throw new Error(`not connected: ${network.lastFailure(nodeID)}`);
    }
    return network;
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

describe('a connection in memory', () => {
  it('gets ready within the round trips of TCP, TLS and the two Handshakes', async () => {
    const node = world.node({ host: '10.0.0.1' });
    const network = world.network([node]);
    let readyAtMs: number | undefined;
    void network
      .waitUntil(() => network.isConnected(node.nodeID), never)
      .then(() => {
        readyAtMs = world.clock.monotonicMs();
      });
    network.want('l1', new Set([node.nodeID]));
    await world.clock.advance(1_000);
    expect(readyAtMs).toBe(7 * LATENCY_MS);
    expect(node.handshake).toMatchObject({ version: NODE_VERSION, address: { host: '0.0.0.0', port: 1 } });
    expect(network.stats()).toEqual({ connected: 1, turnedAway: 0, wanted: 1, knownAddresses: 1 });
    await network[Symbol.asyncDispose]();
  });

  it('keeps the first 64 characters of the software name of a node', async () => {
    const node = world.node({ host: '10.0.0.1', clientName: 'x'.repeat(200_000) });
    const network = await world.connected(node);
    expect(network.describe(node.nodeID).client).toEqual({ name: 'x'.repeat(64), version: NODE_VERSION });
  });

  it('carries an app request and its response', async () => {
    const node = world.node({
      host: '10.0.0.1',
      onAppRequest: (scripted, { chainId, requestId, appBytes }) =>
        scripted.send({ case: 'appResponse', value: { chainId, requestId, appBytes } }),
    });
    const network = await world.connected(node);
    const startMs = world.clock.monotonicMs();
    let tookMs: number | undefined;
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options).finally(() => {
      tookMs = world.clock.monotonicMs() - startMs;
    });
    await world.clock.advance(2 * LATENCY_MS);
    expect(await outcome).toEqual({ kind: 'response', bytes });
    expect(tookMs).toBe(2 * LATENCY_MS);
  });

  it('distinguishes refused, silent, ignored and unreachable', async () => {
    const refusing = world.node({
      host: '10.0.0.1',
      onAppRequest: (scripted, { chainId, requestId }) =>
        scripted.send({ case: 'appError', value: { chainId, requestId, errorCode: -2, errorMessage: 'no handler' } }),
    });
    const silent = world.node({ host: '10.0.0.2' });
    const ignoring = world.node({ host: '10.0.0.3' });
    const breaking = world.node({ host: '10.0.0.4', onAppRequest: (scripted) => scripted.end?.close() });
    silent.answersPings = false;
    const nodes = [refusing, silent, ignoring, breaking];
    const network = await world.connected(...nodes);
    const { nodeID: unknown } = createIdentity();
    const outcomes = Promise.all(
      [...nodes.map(({ nodeID }) => nodeID), unknown].map((nodeID) =>
        network.appRequest(nodeID, C_CHAIN_ID, bytes, options),
      ),
    );
    await world.clock.advance(3_000);
    expect(await outcomes).toEqual([
      { kind: 'refused', code: -2, text: 'no handler' },
      { kind: 'timed_out', reason: 'no_answer' },
      { kind: 'timed_out', reason: 'request_dropped' },
      { kind: 'unreachable', reason: 'connection lost: closed by the node' },
      { kind: 'unreachable', reason: 'no address known' },
    ] satisfies AppOutcome[]);
  });

  it('is closed by deadlines at each stage', async () => {
    const places = ['vanish', 'frozen', 'mute', 'refuses', 'gone'] as const;
    const nodes = places.map((place, index) =>
      world.node({ host: `10.0.0.${index}`, ...(place === 'mute' && { onAccept: () => undefined }) }),
    );
    const [vanish, frozen, mute, refuses, gone] = nodes as [MemoryNode, MemoryNode, MemoryNode, MemoryNode, MemoryNode];
    world.net.listen(vanish.endpoint, { kind: 'vanish' });
    world.net.listen(frozen.endpoint, { kind: 'frozen' });
    world.net.listen(refuses.endpoint, {
      kind: 'accept',
      certificate: refuses.identity.certificate.der,
      accept: (end) => end.close(),
    });
    gone.stop();
    const network = world.network(nodes);
    network.want('l1', new Set(nodes.map(({ nodeID }) => nodeID)));
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

  it('is closed for a certificate that is missing, invalid, or another node’s', async () => {
    const nodes = [1, 2, 3].map((index) => world.node({ host: `10.0.0.${index}` }));
    const other = createIdentity();
    const shown = [undefined, Uint8Array.of(0x30, 0), other.certificate.der];
    nodes.forEach(({ endpoint }, index) =>
      world.net.listen(endpoint, { kind: 'accept', certificate: shown[index], accept: () => undefined }),
    );
    const network = world.network(nodes);
    network.want('l1', new Set(nodes.map(({ nodeID }) => nodeID)));
    await world.clock.advance(100);
    expect(nodes.map(({ nodeID }) => network.lastFailure(nodeID))).toEqual([
      'staking certificate: is missing',
      expect.stringMatching(/^staking certificate: /),
      `another node answers there: ${other.nodeID}`,
    ]);
  });

  it('is pinged when idle, closed when silent, and dialled again', async () => {
    const node = world.node({ host: '10.0.0.1' });
    const network = await world.connected(node);
    await world.clock.advance(30_000);
    expect(node.received.filter(({ name }) => name === 'ping')).toHaveLength(2);
    node.answersPings = false;
    await world.clock.advance(35_000);
    expect(node.acceptCount).toBe(2);
    expect(network.isConnected(node.nodeID)).toBe(true);
  });

  it('Pings of hundreds of peers are spread over ticks', async () => {
    const nodes = Array.from({ length: 300 }, (_, index) => world.node({ host: `10.1.${index >> 8}.${index & 255}` }));
    const network = world.network(nodes, { limits: { dialsPerSecond: 1_000 } });
    network.want('l1', new Set(nodes.map(({ nodeID }) => nodeID)));
    await world.clock.advance(8_000);
    expect(network.stats().connected).toBe(300);
    for (const node of nodes) node.send({ case: 'peerList', value: {} });
    await world.clock.advance(14_000);
    const pings = nodes.flatMap(({ received }) => received.filter(({ name }) => name === 'ping'));
    const byTick = Map.groupBy(pings, ({ atMs }) => atMs);
    expect([...byTick.values()].map((ofTick) => ofTick.length)).toEqual([256, 44]);
  });

  it('the send queue is bounded while the node does not read', async () => {
    const node = world.node({ host: '10.0.0.1' });
    const network = world.network([node], { limits: { maxSendQueueBytes: 1_000 } });
    network.want('l1', new Set([node.nodeID]));
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
    const nodes = [world.node({ host: '10.0.0.1' }), world.node({ host: '10.0.0.2' })];
    const network = await world.connected(...nodes);
    const written: Uint8Array[] = [];
    const write = vi.spyOn(MemoryEnd.prototype, 'write').mockImplementation((chunk) => void written.push(chunk));
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

  it('ends with the network, which leaves no timer', async () => {
    const node = world.node({ host: '10.0.0.1' });
    const network = await world.connected(node);
    const outcome = network.appRequest(node.nodeID, C_CHAIN_ID, bytes, options);
    await network[Symbol.asyncDispose]();
    expect(await outcome).toEqual({ kind: 'unreachable', reason: 'we are shutting down' });
    await world.clock.advance(LATENCY_MS);
    await settle();
    expect(node.end?.isOver).toBe(true);
    expect(world.clock.pendingTimers).toBe(0);
    const dials = world.net.dialCount;
    await world.clock.advance(60_000);
    expect(world.net.dialCount).toBe(dials);
  });
});

describe('the network between its parts', () => {
  it('continues dialling at once, and when a connection gets ready', async () => {
    const nodes = Array.from({ length: 70 }, (_, index) => world.node({ host: `10.0.0.${index}` }));
    const all = new Set(nodes.map(({ nodeID }) => nodeID));
    const wide = world.network(nodes, { limits: { dialsPerSecond: 100 } });
    wide.want('l1', all);
    await world.clock.advance(0);
    expect(world.net.dialCount).toBe(70);
    await wide[Symbol.asyncDispose]();

    world = new World();
    const three = [1, 2, 3].map((index) => world.node({ host: `10.0.0.${index}` }));
    const narrow = world.network(three, { limits: { maxConnecting: 1 } });
    narrow.want('l1', new Set(three.map(({ nodeID }) => nodeID)));
    await world.clock.advance(3 * 7 * LATENCY_MS);
    expect(narrow.stats().connected).toBe(3);
  });

  it('refreshes the node version after a refused Handshake, and when it is old', async () => {
    const asked: number[] = [];
    const refusing = world.node({
      host: '10.0.0.1',
      onAccept: (end) => {
        end.listen({ onData: () => end.close(), onEnd: () => undefined });
        refusing.sendHandshake();
      },
    });
    const change = {
      nodeVersion: async () => {
        asked.push(world.clock.monotonicMs());
        return { ...NODE_VERSION, minor: 14 + asked.length };
      },
    };
    const network = world.network([refusing], change);
    network.want('l1', new Set([refusing.nodeID]));
    await world.clock.advance(2_250);
    expect(network.lastFailure(refusing.nodeID)).toBe('our handshake was refused: closed by the node');
    expect(asked).toEqual([0, 2_000]);
    await network[Symbol.asyncDispose]();

    world = new World();
    asked.length = 0;
    const early = world.node({ host: '10.0.0.1' });
    const late = world.node({ host: '10.0.0.2' });
    const second = world.network([early, late], { ...change, limits: { gossipSources: 0 } });
    second.want('l1', new Set([early.nodeID]));
    await world.clock.advance(100_000);
    expect(asked).toEqual([0]);
    second.want('l2', new Set([late.nodeID]));
    await world.clock.advance(1_000);
    expect(asked).toHaveLength(2);
    late.end?.close();
    await world.clock.advance(3_000);
    expect([early, late].map(({ handshake }) => handshake?.version.minor)).toEqual([15, 16]);
  });

  it('searches often again when a node is newly wanted or lost', async () => {
    const node = world.node({ host: '10.0.0.1' });
    const network = await world.connected(node);
    const questions = (): number => node.received.filter(({ name }) => name === 'getPeerList').length;
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

  it('requests more addresses at once after addresses of new nodes, but not after newer ones of known nodes', async () => {
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

  it('requests bootstrap peers again on demand, also during a request', async () => {
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

  it('requests bootstrap peers with doubled pauses while the API fails', async () => {
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

  it('aborts the version request and publishes its metrics when it is closed', async () => {
    const registry = new Registry();
    const node = world.node({ host: '10.0.0.1' });
    let isAborted = false;
    const network = world.network([node], { metrics: createMetrics(registry) });
    const waiting = world.network([], {
      nodeVersion: (signal) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            isAborted = true;
            reject(signal.reason);
          }),
        ),
    });
    network.want('l1', new Set([node.nodeID]));
    // Ready, and before the next tick.
    await world.clock.advance(TICK_MS - 1);
    await network[Symbol.asyncDispose]();
    await waiting[Symbol.asyncDispose]();
    expect(isAborted).toBe(true);
    expect(await registry.metrics()).toMatch(/peer_traffic_bytes_total\{direction="sent"\} \d{3}/);
  });
});
