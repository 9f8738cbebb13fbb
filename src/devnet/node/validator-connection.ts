import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type PeerHandshake, parseHandshake } from '../../p2p/connection/handshake.ts';
import type {
  AppRequest,
  BloomFilter as BloomFilterMessage,
  Handshake,
  HandshakeSchema,
  PeerListSchema,
} from '../../p2p/gen/p2p_pb.js';
import { parseStakingCertificate, type StakingCertificate } from '../../p2p/identity/certificate.ts';
import { encodeFrame, FrameDecoder } from '../../p2p/wire/frames.ts';
import { encodeMessage, type PeerMessage, type PeerMessageInit, parseMessage } from '../../p2p/wire/messages.ts';
import { parseClaimedIpPort } from '../../p2p/wire/signed-address.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { NodeID } from '../../warp/ids.ts';

/** What a connection needs from the validator that it leads to. */
export interface ConnectionHost {
  readonly networkID: number;
  readonly clock: Clock;
  readonly logger: Logger;
  secureContext(): SecureContext;
  createHandshake(): MessageInitShape<typeof HandshakeSchema>;
  /** Whether the peer may stay, as far as its NodeID goes. */
  admits(nodeID: NodeID, connection: ValidatorConnection): boolean;
  /** @throws {ParseError} where the Handshake is one that a node disconnects for and `parseHandshake` does not look at */
  checkHandshake(handshake: Handshake, peer: PeerHandshake): void;
  /** @throws {ParseError} */
  peerList(peer: ConnectedPeer, query: PeerListRequest): MessageInitShape<typeof PeerListSchema>;
  appRequest(connection: ValidatorConnection, request: AppRequest): void;
  closed(connection: ValidatorConnection): void;
}

export interface PeerListRequest {
  readonly knownPeers?: BloomFilterMessage | undefined;
  readonly allSubnets: boolean;
}

/** A peer whose Handshake was accepted. */
export interface ConnectedPeer {
  readonly nodeID: NodeID;
  readonly handshake: PeerHandshake;
}

type State =
  | { readonly phase: 'tls' }
  | { readonly phase: 'awaiting handshake'; readonly certificate: StakingCertificate }
  /** Both handshakes are done, but the peer has yet to acknowledge ours with its PeerList. */
  | { readonly phase: 'awaiting peer list'; readonly peer: ConnectedPeer }
  | { readonly phase: 'ready'; readonly peer: ConnectedPeer }
  | { readonly phase: 'closed' };

/** avalanchego `network-read-handshake-timeout`: a TCP connection on which no TLS follows is closed. */
const TLS_TIMEOUT_MS = 15_000;
/** avalanchego `constants.DefaultPingFrequency` and `DefaultPingPongTimeout`. */
const PING_INTERVAL_MS = 22_500;
const IDLE_TIMEOUT_MS = 30_000;
/** Bytes queued for a peer that does not read, beyond which it is disconnected: some 15,000 signatures. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;

const PING_FRAME = encodeFrame(encodeMessage({ case: 'ping', value: { uptime: 0 } }));
const PONG_FRAME = encodeFrame(encodeMessage({ case: 'pong', value: {} }));

/** One peer of one validator, from TCP to the end: the server's half of `network/peer/peer.go`. */
export class ValidatorConnection {
  readonly #host: ConnectionHost;
  readonly #raw: Socket;
  readonly #decoder = new FrameDecoder();
  /** Each cancels a timer that is running. */
  readonly #timers = new Set<() => void>();
  #tls: TLSSocket | undefined;
  #state: State = { phase: 'tls' };
  #isFrozen: boolean;
  #isTaken = false;
  #isPingUnanswered = false;
  #lastReceivedMs: number;

  /** @param isFrozen whether the host is: see {@link thaw} */
  constructor(host: ConnectionHost, socket: Socket, isFrozen: boolean) {
    this.#host = host;
    this.#raw = socket;
    this.#isFrozen = isFrozen;
    this.#lastReceivedMs = host.clock.monotonicMs();
    // Errors are followed by 'close', where all is cleaned up.
    socket.on('error', () => undefined);
    socket.on('close', () => this.close('the socket was closed'));
    if (!isFrozen) this.#startTls();
  }

  /** The peer, from its accepted Handshake on. */
  get peer(): ConnectedPeer | undefined {
    return 'peer' in this.#state ? this.#state.peer : undefined;
  }

  get isReady(): boolean {
    return this.#state.phase === 'ready';
  }

  /** Stops reading and writing, as a process that was stopped. */
  freeze(): void {
    this.#isFrozen = true;
    this.#tls?.pause();
  }

  /** Continues with the data that arrived in the meantime. */
  thaw(): void {
    if (!this.#isFrozen || this.#state.phase === 'closed') return;
    this.#isFrozen = false;
    if (this.#tls === undefined) this.#startTls();
    else this.#tls.resume();
  }

  send(message: PeerMessageInit, compression: 'none' | 'zstd'): void {
    this.#write(encodeFrame(encodeMessage(message, compression)));
  }

  /** Writes bytes as they are, be they frames or not. */
  write(bytes: Uint8Array): void {
    this.#write(bytes);
  }

  /** Hands out the socket, to which the connection writes nothing any more; undefined where there is none, or it was taken. */
  takeSocket(): TLSSocket | undefined {
    if (this.#state.phase === 'closed' || this.#isTaken) return undefined;
    this.#isTaken = true;
    return this.#tls;
  }

  /** Runs the callback after a delay, unless the connection ends before. */
  after(delayMs: number, callback: () => void): void {
    const cancel = this.#host.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      callback();
    });
    this.#timers.add(cancel);
  }

  /** @param reason for the log: like a node, it never tells the peer */
  close(reason: string): void {
    if (this.#state.phase === 'closed') return;
    const nodeID = this.peer?.nodeID;
    this.#state = { phase: 'closed' };
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#tls?.destroy();
    this.#raw.destroy();
    this.#host.logger.debug({ peer: nodeID, reason }, 'embedded validator: connection closed');
    this.#host.closed(this);
  }

  #startTls(): void {
    // The protocol checks no host name: the identity is the certificate.
    const tls = new TLSSocket(this.#raw, {
      isServer: true,
      requestCert: true,
      rejectUnauthorized: false,
      secureContext: this.#host.secureContext(),
    });
    this.#tls = tls;
    this.after(TLS_TIMEOUT_MS, () => {
      if (this.#state.phase === 'tls') this.close('no TLS handshake in time');
    });
    tls.on('error', () => undefined);
    tls.on('close', () => this.close('the socket was closed'));
    tls.once('secure', () => this.#onSecure(tls));
    tls.on('data', (chunk: Buffer) => this.#onData(chunk));
  }

  #onSecure(tls: TLSSocket): void {
    if (this.#state.phase !== 'tls') return;
    try {
      const der = tls.getPeerX509Certificate()?.raw;
      if (der === undefined) throw new ParseError('staking certificate', 'is missing');
      const certificate = parseStakingCertificate(new Uint8Array(der));
      if (!this.#host.admits(certificate.nodeID, this)) return this.close('the peer is not admitted');
      this.#state = { phase: 'awaiting handshake', certificate };
    } catch (error) {
      return this.#closeFor(error);
    }
    this.#lastReceivedMs = this.#host.clock.monotonicMs();
    this.after(PING_INTERVAL_MS, () => this.#ping());
    this.after(IDLE_TIMEOUT_MS, () => this.#checkIdle());
    this.send({ case: 'handshake', value: this.#host.createHandshake() }, 'none');
  }

  #ping(): void {
    this.#isPingUnanswered = true;
    this.#write(PING_FRAME);
    this.after(PING_INTERVAL_MS, () => this.#ping());
  }

  #checkIdle(): void {
    const idleMs = this.#host.clock.monotonicMs() - this.#lastReceivedMs;
    if (idleMs < IDLE_TIMEOUT_MS) this.after(IDLE_TIMEOUT_MS - idleMs, () => this.#checkIdle());
    // A stopped process disconnects no peer; data that arrived meanwhile counts when it runs again.
    else if (this.#isFrozen) this.after(IDLE_TIMEOUT_MS, () => this.#checkIdle());
    else this.close('the peer fell silent');
  }

  #onData(chunk: Buffer): void {
    if (this.#state.phase === 'closed') return;
    try {
      for (const payload of this.#decoder.push(chunk)) {
        this.#lastReceivedMs = this.#host.clock.monotonicMs();
        const message = parseTolerantly(payload);
        if (message !== undefined) this.#onMessage(message);
      }
    } catch (error) {
      this.#closeFor(error);
    }
  }

  /** @throws {ParseError} where a node disconnects the peer for the message */
  #onMessage(message: PeerMessage): void {
    const state = this.#state;
    if (state.phase === 'closed' || state.phase === 'tls') return;
    switch (message.case) {
      case 'ping':
        if (message.value.uptime > 100) throw new ParseError('Ping', `has an uptime of ${message.value.uptime} %`);
        this.#write(PONG_FRAME);
        return;
      case 'pong':
        if (!this.#isPingUnanswered) throw new ParseError('Pong', 'was not asked for');
        this.#isPingUnanswered = false;
        return;
      case 'handshake':
        if (state.phase !== 'awaiting handshake') throw new ParseError('Handshake', 'came a second time');
        this.#onHandshake(message.value, state.certificate);
        return;
      case 'peerList':
        for (const claimed of message.value.claimedIpPorts) {
          parseClaimedIpPort(claimed);
          parseStakingCertificate(claimed.x509Certificate);
        }
        if (state.phase === 'awaiting peer list') this.#state = { phase: 'ready', peer: state.peer };
        return;
      case 'getPeerList': {
        if (state.phase !== 'ready') return;
        const { knownPeers, allSubnets } = message.value;
        if (knownPeers === undefined) throw new ParseError('GetPeerList', 'has no bloom filter');
        const peerList = this.#host.peerList(state.peer, { knownPeers, allSubnets });
        // No answer means that there is nothing new.
        if (peerList.claimedIpPorts?.length) this.send({ case: 'peerList', value: peerList }, 'zstd');
        return;
      }
      case 'appRequest':
        if (state.phase === 'ready') this.#host.appRequest(this, message.value);
        return;
      // Nothing was asked of the peer, and its gossip concerns no chain here.
      case 'appResponse':
      case 'appError':
      case 'appGossip':
      case undefined:
        return;
    }
  }

  #onHandshake(handshake: Handshake, certificate: StakingCertificate): void {
    const { networkID, clock } = this.#host;
    const parsed = parseHandshake(handshake, { networkID, nowMs: clock.now(), certificate });
    this.#host.checkHandshake(handshake, parsed);
    const peer = { nodeID: certificate.nodeID, handshake: parsed };
    this.#state = { phase: 'awaiting peer list', peer };
    this.send({ case: 'peerList', value: this.#host.peerList(peer, handshake) }, 'zstd');
  }

  #write(frame: Uint8Array): void {
    if (this.#state.phase === 'closed' || this.#isFrozen || this.#isTaken || this.#tls === undefined) return;
    this.#tls.write(frame);
    if (this.#tls.writableLength > MAX_QUEUED_BYTES) this.close('the peer does not read');
  }

  #closeFor(error: unknown): void {
    if (!(error instanceof ParseError)) throw error;
    this.close(error.message);
  }
}

/** A node skips frames it cannot read, and counts them as a sign of life. */
function parseTolerantly(payload: Uint8Array): PeerMessage | undefined {
  try {
    return parseMessage(payload);
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}
