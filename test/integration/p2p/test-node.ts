import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import {
  createHandshake,
  type ParsedKnownPeers,
  type PeerHandshake,
  PLACEHOLDER_BLS_SIGNATURE,
  parseHandshake,
  parseKnownPeers,
} from '../../../src/p2p/connection/handshake.ts';
import { type AppRequest, PeerListSchema } from '../../../src/p2p/gen/p2p_pb.js';
import { parseStakingCertificate, type StakingCertificate } from '../../../src/p2p/identity/certificate.ts';
import { createIdentity, type Identity, identityTlsOptions } from '../../../src/p2p/identity/identity.ts';
import { addressGossipID, bloomHash } from '../../../src/p2p/wire/bloom-filter.ts';
import { encodeFrame, FrameDecoder } from '../../../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessage, type PeerMessageInit, parseMessage } from '../../../src/p2p/wire/messages.ts';
import { encodeClaimedIpPort, type SignedAddress, signAddress } from '../../../src/p2p/wire/signed-address.ts';
import type { NodeID } from '../../../src/warp/ids.ts';

export const NETWORK_ID = 12_345;
export const NODE_VERSION = { major: 1, minor: 14, patch: 2 };
/** Limit of the reference node. */
const MAX_ADDRESSES = 15;

export interface TestNodeOptions {
  readonly clock: Clock;
  readonly identity?: Identity;
  readonly port?: number;
  /** Age of its signed address in seconds; after a move the new address is younger. */
  readonly signedAgeS?: number;
  /** Called after TLS; speaks the protocol by default. */
  readonly onSession?: (session: TestSession) => void;
  readonly onAppRequest?: (session: TestSession, request: AppRequest) => void;
  /** True by default. */
  readonly answersPings?: boolean;
}

/** Node on loopback with the real protocol over TLS, and faults on request. */
export class TestNode implements AsyncDisposable {
  readonly identity: Identity;
  readonly sessions = new Set<TestSession>();
  /** Addresses it sends to peers, except those in their filters. */
  readonly known: SignedAddress[] = [];
  readonly options: TestNodeOptions;
  sessionCount = 0;
  nextAddress = 0;
  readonly #server: Server;
  #signedAddress: SignedAddress | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();

  private constructor(server: Server, identity: Identity, options: TestNodeOptions) {
    this.identity = identity;
    this.options = options;
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.changed();
      });
    });
    server.on('tlsClientError', () => undefined);
    server.on('secureConnection', (socket) => {
      const session = new TestSession(this, socket);
      this.sessionCount += 1;
      this.sessions.add(session);
      socket.on('close', () => {
        this.sessions.delete(session);
        this.changed();
      });
      (options.onSession ?? ((opened) => opened.serve()))(session);
      this.changed();
    });
  }

  static async start(options: TestNodeOptions): Promise<TestNode> {
    const identity = options.identity ?? createIdentity();
    const server = createServer({ ...identityTlsOptions(identity), requestCert: true, rejectUnauthorized: false });
    await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
    return new TestNode(server, identity, options);
  }

  get nodeID(): NodeID {
    return this.identity.nodeID;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get endpoint() {
    return { nodeID: this.nodeID, host: '127.0.0.1', port: this.port };
  }

  get session(): TestSession {
    const [session] = this.sessions;
    if (session === undefined) throw new Error('no client is connected');
    return session;
  }

  get signedAddress(): SignedAddress {
    this.#signedAddress ??= this.signAddressOf(this.port, this.options.signedAgeS ?? 100);
    return this.#signedAddress;
  }

  /** @param ageS age of the signature in seconds */
  signAddressOf(port: number, ageS: number): SignedAddress {
    const timestamp = BigInt(Math.floor(this.options.clock.now() / 1000) - ageS);
    return signAddress(this.identity, { host: '127.0.0.1', port, timestamp });
  }

  /** Resolves when the condition holds, which is checked after each message or close. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }

  changed(): void {
    for (const check of [...this.#waiting]) check();
  }

  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.dropAll();
    await closed;
  }
}

/** The node's side of one connection. */
export class TestSession {
  readonly socket: TLSSocket;
  readonly certificate: StakingCertificate;
  readonly received: PeerMessage[] = [];
  handshake: PeerHandshake | undefined;
  /** The client's PeerList was received, so its requests are handled. */
  isReady = false;
  readonly #node: TestNode;
  readonly #decoder = new FrameDecoder();

  constructor(node: TestNode, socket: TLSSocket) {
    this.#node = node;
    this.socket = socket;
    const der = socket.getPeerX509Certificate()?.raw;
    if (der === undefined) throw new Error('the client has shown no certificate');
    this.certificate = parseStakingCertificate(new Uint8Array(der));
    socket.on('error', () => undefined);
  }

  serve(): void {
    this.sendHandshake();
    this.socket.on('data', (chunk: Buffer) => {
      for (const payload of this.#decoder.push(chunk)) this.#handle(parseMessage(payload));
    });
  }

  sendHandshake(change: { networkID?: number } = {}): void {
    const { clock } = this.#node.options;
    this.send({
      case: 'handshake',
      value: createHandshake({
        networkID: change.networkID ?? NETWORK_ID,
        nowMs: clock.now(),
        version: NODE_VERSION,
        clientName: 'test-node',
        address: this.#node.signedAddress,
        blsSignature: PLACEHOLDER_BLS_SIGNATURE,
        trackedSubnets: [],
        knownPeers: { filter: Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), salt: new Uint8Array(32) },
        allSubnets: false,
      }),
    });
  }

  send(message: PeerMessageInit, compression: 'none' | 'zstd' = 'none'): void {
    this.sendPayload(encodeMessage(message, compression));
  }

  sendPayload(payload: Uint8Array): void {
    this.socket.write(encodeFrame(payload));
  }

  /** Sends at most 15 addresses that the filter lacks. */
  sendPeerList(knownPeers: ParsedKnownPeers | undefined, evenIfEmpty: boolean): void {
    const { known } = this.#node;
    const news: SignedAddress[] = [];
    // Continues after the last response, so that peers receive different addresses.
    for (let step = 0; step < known.length && news.length < MAX_ADDRESSES; step += 1) {
      const address = known[(this.#node.nextAddress + step) % known.length];
      if (address === undefined || address.nodeID === this.certificate.nodeID) continue;
      const gossipID = addressGossipID(address.nodeID, address.timestamp);
      if (!knownPeers?.filter.has(bloomHash(gossipID, knownPeers.salt))) news.push(address);
    }
    this.#node.nextAddress += news.length;
    if (news.length === 0 && !evenIfEmpty) return;
    const value = create(PeerListSchema, { claimedIpPorts: news.map(encodeClaimedIpPort) });
    this.send({ case: 'peerList', value }, 'zstd');
  }

  count(name: PeerMessage['case']): number {
    return this.received.filter((message) => message.case === name).length;
  }

  #handle(message: PeerMessage): void {
    const { answersPings = true, clock, onAppRequest } = this.#node.options;
    this.received.push(message);
    if (message.case === 'handshake') {
      this.handshake = parseHandshake(message.value, {
        networkID: NETWORK_ID,
        nowMs: clock.now(),
        certificate: this.certificate,
      });
      this.sendPeerList(this.handshake.knownPeers, true);
    }
    if (message.case === 'peerList') this.isReady = true;
    if (message.case === 'getPeerList') this.sendPeerList(parseKnownPeers(message.value.knownPeers), false);
    if (message.case === 'ping' && answersPings) this.send({ case: 'pong', value: {} });
    if (message.case === 'appRequest' && this.isReady) onAppRequest?.(this, message.value);
    this.#node.changed();
  }
}
