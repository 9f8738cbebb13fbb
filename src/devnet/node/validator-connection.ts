import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { type PeerHandshake, parseHandshake } from '../../p2p/connection/handshake.ts';
import type { AppRequest, GetPeerList, Handshake, HandshakeSchema } from '../../p2p/gen/p2p_pb.js';
import { parseStakingCertificate, type StakingCertificate } from '../../p2p/identity/certificate.ts';
import { encodeFrame, FrameDecoder } from '../../p2p/wire/frames.ts';
import { encodeMessage, type PeerMessage, type PeerMessageInit, parseMessage } from '../../p2p/wire/messages.ts';
import { parseClaimedIpPort } from '../../p2p/wire/signed-address.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { ClaimedAddress } from './gossip-pool.ts';

/** Operations that a connection needs of its validator. */
export interface ConnectionHost {
  readonly surroundings: { readonly networkID: number; readonly clock: Clock; readonly logger: Logger };
  secureContext(): SecureContext;
  createHandshake(): MessageInitShape<typeof HandshakeSchema>;
  /** Whether a peer with this NodeID may connect. */
  admits(nodeID: NodeID): boolean;
  /** @throws {ParseError} if a node would disconnect for a field that `parseHandshake` does not check */
  checkHandshake(handshake: Handshake, peer: PeerHandshake): void;
  /** @throws {ParseError} */
  peerList(peer: ConnectedPeer, query: PeerListRequest): ClaimedAddress[];
  appRequest(connection: ValidatorConnection, request: AppRequest): void;
  closed(connection: ValidatorConnection): void;
}

export type PeerListRequest = Pick<GetPeerList, 'knownPeers' | 'allSubnets'>;

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

/** Connection of one peer to one validator, from accept to close: the server side of `network/peer/peer.go`. */
export class ValidatorConnection {
  readonly #host: ConnectionHost;
  readonly #clock: Clock;
  readonly #raw: Socket;
  readonly #decoder = new FrameDecoder();
  /** Each cancels a timer that is running. */
  readonly #timers = new Set<() => void>();
  #state: State = { phase: 'tls' };
  #isPingUnanswered = false;
  #lastReceivedMs: number;
  protected tls: TLSSocket | undefined;

  constructor(host: ConnectionHost, socket: Socket) {
    this.#host = host;
    this.#raw = socket;
    this.#clock = host.surroundings.clock;
    this.#lastReceivedMs = this.#clock.monotonicMs();
    // Errors are followed by 'close', where all is cleaned up.
    socket.on('error', () => undefined);
    socket.on('close', () => this.close('the socket was closed'));
  }

  /** Peer, after its Handshake was accepted. */
  get peer(): ConnectedPeer | undefined {
    return 'peer' in this.#state ? this.#state.peer : undefined;
  }

  /** NodeID of the peer, after TLS is established. */
  get nodeID(): NodeID | undefined {
    return 'certificate' in this.#state ? this.#state.certificate.nodeID : this.peer?.nodeID;
  }

  get isReady(): boolean {
    return this.#state.phase === 'ready';
  }

  get isClosed(): boolean {
    return this.#state.phase === 'closed';
  }

  send(message: PeerMessageInit, compression: 'none' | 'zstd'): void {
    this.write(encodeFrame(encodeMessage(message, compression)));
  }

  /** Writes raw bytes, which need not be frames. */
  write(bytes: Uint8Array): void {
    if (this.isClosed || this.tls === undefined) return;
    this.tls.write(bytes);
    if (this.tls.writableLength > MAX_QUEUED_BYTES) this.close('the peer does not read');
  }

  /** Runs the callback after a delay, unless the connection ends before. */
  after(delayMs: number, callback: () => void): void {
    const cancel = this.#clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      callback();
    });
    this.#timers.add(cancel);
  }

  /** @param reason for the log: not sent to the peer, as in a node */
  close(reason: string): void {
    if (this.#state.phase === 'closed') return;
    const { nodeID } = this;
    this.#state = { phase: 'closed' };
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.tls?.destroy();
    this.#raw.destroy();
    this.#host.surroundings.logger.debug({ peer: nodeID, reason }, 'devnet validator: connection closed');
    this.#host.closed(this);
  }

  startTls(): void {
    // The protocol checks no host name: the identity is the certificate.
    const tls = new TLSSocket(this.#raw, {
      isServer: true,
      requestCert: true,
      rejectUnauthorized: false,
      secureContext: this.#host.secureContext(),
    });
    this.tls = tls;
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
      if (!this.#host.admits(certificate.nodeID)) return this.close('the peer is not admitted');
      this.#state = { phase: 'awaiting handshake', certificate };
    } catch (error) {
      return this.#closeFor(error);
    }
    this.#lastReceivedMs = this.#clock.monotonicMs();
    this.after(PING_INTERVAL_MS, () => this.#ping());
    this.after(IDLE_TIMEOUT_MS, () => this.checkIdle());
    this.send({ case: 'handshake', value: this.#host.createHandshake() }, 'none');
  }

  #ping(): void {
    this.#isPingUnanswered = true;
    this.write(PING_FRAME);
    this.after(PING_INTERVAL_MS, () => this.#ping());
  }

  protected checkIdle(): void {
    const idleMs = this.#clock.monotonicMs() - this.#lastReceivedMs;
    if (idleMs < IDLE_TIMEOUT_MS) this.after(IDLE_TIMEOUT_MS - idleMs, () => this.checkIdle());
    else this.close('the peer fell silent');
  }

  #onData(chunk: Buffer): void {
    if (this.#state.phase === 'closed') return;
    try {
      for (const payload of this.#decoder.push(chunk)) {
        this.#lastReceivedMs = this.#clock.monotonicMs();
        const message = attempt(() => parseMessage(payload));
        // A node skips frames that it cannot parse, and counts them as received data.
        if (!(message instanceof ParseError)) this.#onMessage(message);
      }
    } catch (error) {
      this.#closeFor(error);
    }
  }

  /** @throws {ParseError} if a node disconnects the peer for the message */
  #onMessage(message: PeerMessage): void {
    const state = this.#state;
    if (state.phase === 'closed' || state.phase === 'tls') return;
    switch (message.case) {
      case 'ping':
        if (message.value.uptime > 100) throw new ParseError('Ping', `has an uptime of ${message.value.uptime} %`);
        this.write(PONG_FRAME);
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
        if (message.value.knownPeers === undefined) throw new ParseError('GetPeerList', 'has no bloom filter');
        const claimedIpPorts = this.#host.peerList(state.peer, message.value);
        // A node without new addresses does not respond.
        if (claimedIpPorts.length > 0) this.send({ case: 'peerList', value: { claimedIpPorts } }, 'zstd');
        return;
      }
      case 'appRequest':
        if (state.phase === 'ready') this.#host.appRequest(this, message.value);
        return;
      // Validators send no requests to peers, and ignore gossip.
      case 'appResponse':
      case 'appError':
      case 'appGossip':
      case undefined:
        return;
    }
  }

  #onHandshake(handshake: Handshake, certificate: StakingCertificate): void {
    const { networkID } = this.#host.surroundings;
    const parsed = parseHandshake(handshake, { networkID, nowMs: this.#clock.now(), certificate });
    this.#host.checkHandshake(handshake, parsed);
    const peer = { nodeID: certificate.nodeID, handshake: parsed };
    this.#state = { phase: 'awaiting peer list', peer };
    this.send({ case: 'peerList', value: { claimedIpPorts: this.#host.peerList(peer, handshake) } }, 'zstd');
  }

  #closeFor(error: unknown): void {
    if (!(error instanceof ParseError)) throw error;
    this.close(error.message);
  }
}
