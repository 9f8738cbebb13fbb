import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { compareNodeVersions, createHandshake, type NodeVersion } from '../../p2p/connection/handshake.ts';
import type { AppRequest, Handshake } from '../../p2p/gen/p2p_pb.js';
import { createIdentityContext, type Identity } from '../../p2p/identity/identity.ts';
import { BloomFilter } from '../../p2p/wire/bloom-filter.ts';
import type { PeerMessageInit } from '../../p2p/wire/messages.ts';
import { type SignedAddress, signAddress } from '../../p2p/wire/signed-address.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import { idBytes, PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import { encodeSignatureResponse } from '../../warp/signature-request.ts';
import type { KeyRing } from '../key-ring.ts';
import type { AppRequestJudge, Verdict } from './app-request-judge.ts';
import type { ClaimedAddress, GossipPool } from './gossip-pool.ts';
import {
  type ConnectedPeer,
  type ConnectionHost,
  type PeerListRequest,
  ValidatorConnection,
} from './validator-connection.ts';

export type ValidatorAnswer = Extract<PeerMessageInit, { case: 'appResponse' | 'appError' }>;

/** Parts that all validators of the devnet share. */
export interface ValidatorSurroundings {
  readonly networkID: number;
  readonly host: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keys: KeyRing;
  readonly judge: AppRequestJudge;
  readonly gossip: GossipPool;
  /** A point of G2, shown in every Handshake: see {@link DevnetValidator}. */
  readonly handshakeSignature: Uint8Array;
}

export interface ValidatorRole {
  readonly identity: Identity;
  /** Index into the key ring. */
  readonly keyIndex: number;
  /** 48 bytes, compressed G1. */
  readonly publicKey: Uint8Array;
  /** Subnets that it validates now; its address is gossiped to peers that track one of them. */
  readonly subnetIDs: readonly SubnetID[];
  /** Tracked subnets of its Handshake, without the primary network. */
  readonly trackedSubnets: readonly SubnetID[];
  readonly blockchainIDs: ReadonlySet<BlockchainID>;
}

/** The release whose rules the validators follow: the first with Helicon. */
export const NODE_VERSION: NodeVersion = { major: 1, minor: 15, patch: 0 };
export const CLIENT_NAME = 'avalanchego';
/** Lower than that release's, so that a Go aggregator of the release before still connects. */
const MINIMUM_COMPATIBLE_VERSION: NodeVersion = { major: 1, minor: 14, patch: 0 };
/** TCP connections to one validator; tests have a few clients on the loopback interface. */
const MAX_CONNECTIONS = 256;
/** The filter of known addresses that a node sends. It is empty because these validators request no addresses. */
const NO_KNOWN_PEERS = {
  filter: BloomFilter.create(1, 0.01, (length) => new Uint8Array(length)).encode(),
  salt: new Uint8Array(32),
};

/**
 * One validator: a listening socket, an identity, and rules for answers.
 *
 * It differs from a real one in two things. A node signs its address with its BLS key, in the domain of proofs of possession; here all
 * validators show the same point of G2 instead. Signing would take 20 ms for each of 2,000 validators, and a peer can check the signature
 * only against the validator set. A node reads no more than 512 KiB a second of a peer that is no validator, while these read all at once.
 *
 * Tests override its protected methods to make it misbehave.
 */
export class DevnetValidator implements ConnectionHost {
  readonly surroundings: ValidatorSurroundings;
  readonly role: ValidatorRole;
  readonly #connections = new Set<ValidatorConnection>();
  #context: SecureContext | undefined;
  #server: Server | undefined;
  /** Address of the listening socket, or of the last one; undefined before the first start. */
  protected lastAddress: SignedAddress | undefined;
  /** Number of AppRequests received since the start, answered or not. */
  appRequestCount = 0;

  constructor(surroundings: ValidatorSurroundings, role: ValidatorRole) {
    this.surroundings = surroundings;
    this.role = role;
  }

  get nodeID(): NodeID {
    return this.role.identity.nodeID;
  }

  get publicKey(): Uint8Array {
    return this.role.publicKey;
  }

  get address(): SignedAddress {
    if (this.lastAddress === undefined) throw new Error('the validator was never started');
    return this.lastAddress;
  }

  get isRunning(): boolean {
    return this.#server !== undefined;
  }

  /** Peers whose handshake is complete. */
  get connectedPeers(): readonly ConnectedPeer[] {
    return [...this.#connections].flatMap(({ isReady, peer }) => (isReady && peer !== undefined ? [peer] : []));
  }

  get connections(): readonly ValidatorConnection[] {
    return [...this.#connections];
  }

  /** @param port 0 for any free port */
  async start(port = 0): Promise<void> {
    if (this.#server !== undefined) throw new Error('the validator is already running');
    const { host, gossip, clock, logger } = this.surroundings;
    const server = createServer({ noDelay: true }, (socket) => this.accept(socket));
    server.maxConnections = MAX_CONNECTIONS;
    this.#server = server;
    try {
      await once(server.listen({ host, port }), 'listening');
    } catch (error) {
      this.#server = undefined;
      throw error;
    }
    // After the start, errors are connections that cannot be accepted, because no file descriptor is left.
    server.on('error', (error) => logger.warn({ nodeId: this.nodeID, error: error.message }, 'devnet validator'));
    const listening = server.address();
    if (listening === null || typeof listening === 'string') throw new Error('the validator does not listen on TCP');
    // Peers keep the address with the newest timestamp, so an address signed within the same second needs a later one.
    const nowSeconds = BigInt(Math.floor(clock.now() / 1000));
    const earlier = this.lastAddress?.timestamp ?? 0n;
    const timestamp = nowSeconds > earlier ? nowSeconds : earlier + 1n;
    this.lastAddress = signAddress(this.role.identity, { host, port: listening.port, timestamp });
    if (this.role.subnetIDs.length > 0) gossip.set(this.lastAddress, this.role.subnetIDs);
  }

  /** Closes the port and all connections, as the end of the process would. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    this.surroundings.gossip.delete(this.nodeID);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const connection of Array.from(this.#connections)) connection.close('the validator stops');
    await closed;
  }

  protected accept(socket: Socket): void {
    const connection = this.connect(socket);
    this.#connections.add(connection);
    connection.startTls();
  }

  protected connect(socket: Socket): ValidatorConnection {
    return new ValidatorConnection(this, socket);
  }

  secureContext(): SecureContext {
    // Created at the first connection, so that 2,000 validators start sooner.
    this.#context ??= createIdentityContext(this.role.identity);
    return this.#context;
  }

  createHandshake(version = NODE_VERSION): ReturnType<typeof createHandshake> {
    const { networkID, clock, handshakeSignature } = this.surroundings;
    return createHandshake({
      networkID,
      nowMs: clock.now(),
      version,
      clientName: CLIENT_NAME,
      address: this.address,
      blsSignature: handshakeSignature,
      trackedSubnets: this.role.trackedSubnets.map(idBytes),
      knownPeers: NO_KNOWN_PEERS,
      allSubnets: this.role.subnetIDs.includes(PRIMARY_NETWORK_ID),
    });
  }

  /** A node keeps one connection to each peer. */
  admits(nodeID: NodeID): boolean {
    return nodeID !== this.nodeID && !this.connections.some((connection) => connection.nodeID === nodeID);
  }

  checkHandshake(handshake: Handshake, { version }: ConnectedPeer['handshake']): void {
    const { major, minor, patch } = version;
    if (major > NODE_VERSION.major || compareNodeVersions(version, MINIMUM_COMPATIBLE_VERSION) < 0) {
      throw new ParseError('Handshake', `is of the incompatible version ${major}.${minor}.${patch}`);
    }
    if (!this.surroundings.keys.isSignature(handshake.ipBlsSig)) {
      throw new ParseError('Handshake', 'has a BLS signature that is no point of G2');
    }
  }

  peerList({ nodeID, handshake }: ConnectedPeer, { knownPeers, allSubnets }: PeerListRequest): ClaimedAddress[] {
    const tracked = new Set(handshake.trackedSubnets.map(bytesToHex));
    const isTracked = (subnetID: SubnetID): boolean =>
      subnetID === PRIMARY_NETWORK_ID || tracked.has(bytesToHex(idBytes(subnetID)));
    return this.surroundings.gossip.pick({
      except: [this.nodeID, nodeID],
      knownPeers,
      isWanted: (subnetIDs) => allSubnets || subnetIDs.some(isTracked),
    });
  }

  appRequest(connection: ValidatorConnection, request: AppRequest): void {
    this.appRequestCount += 1;
    this.answer(connection, request);
  }

  closed(connection: ValidatorConnection): void {
    this.#connections.delete(connection);
  }

  protected answer(connection: ValidatorConnection, request: AppRequest): void {
    const { chainId, requestId } = request;
    const verdict = this.judge(request);
    if (verdict?.kind === 'refuse') {
      const { code, message } = verdict.refusal;
      this.send(connection, {
        case: 'appError',
        value: { chainId, requestId, errorCode: code, errorMessage: message },
      });
    } else if (verdict?.kind === 'sign') {
      const appBytes = encodeSignatureResponse(this.sign(verdict.message.bytes));
      this.send(connection, { case: 'appResponse', value: { chainId, requestId, appBytes } });
    }
  }

  protected judge(request: AppRequest): Verdict {
    const runs = (chainID: BlockchainID): boolean => this.role.blockchainIDs.has(chainID);
    return this.surroundings.judge.judge(request, runs, { nodeID: this.nodeID, executionLagMs: this.executionLagMs });
  }

  /** Its own execution lag of the C-Chain; undefined: the chain's. */
  protected get executionLagMs(): number | undefined {
    return undefined;
  }

  protected sign(message: Uint8Array): Uint8Array {
    return this.surroundings.keys.sign(this.role.keyIndex, message);
  }

  protected send(connection: ValidatorConnection, answer: ValidatorAnswer): void {
    connection.send(answer, 'zstd');
  }
}
