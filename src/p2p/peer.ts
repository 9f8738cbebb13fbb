import { connect, type SecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '../primitives/clock.ts';
import type { NodeID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { Endpoint } from './address-book.ts';
import { parseStakingCertificate, type StakingCertificate } from './certificate.ts';
import { encodeFrame, FrameDecoder } from './frames.ts';
import type { AppError, AppResponse, Handshake, PeerList } from './gen/p2p_pb.js';
import { type PeerHandshake, parseHandshake } from './handshake.ts';
import { encodeMessage, type PeerMessageInit, parseMessage } from './messages.ts';

/** Why a connection ended, as a label; the reason beside it is for people. */
export type CloseCause =
  /** TCP never came about. */
  | 'unreachable'
  /** TLS never came about. */
  | 'tls'
  /** Another node answers at this address. */
  | 'wrong_node'
  /** Closed after TLS without a word: only validators or listed nodes are let in, or our certificate was refused. */
  | 'not_admitted'
  /** Either side refused the other's Handshake, or it did not come. */
  | 'handshake'
  /** The peer broke the rules of the protocol. */
  | 'protocol'
  /** Nothing came for too long. */
  | 'silent'
  /** It worked, then it broke. */
  | 'lost'
  /** We have no use for it any more. */
  | 'unwanted'
  /** A newer address of the node became known while this one was still being tried. */
  | 'superseded'
  /** We are shutting down. */
  | 'shutdown';

/** Times are monotonic; `untilMs` is when we give up. */
export type PeerState =
  | { readonly kind: 'dialing'; readonly untilMs: number }
  | { readonly kind: 'tls'; readonly untilMs: number }
  | {
      readonly kind: 'handshaking';
      readonly untilMs: number;
      readonly certificate: StakingCertificate;
      /** Undefined until the peer's own has come and was found good. */
      readonly handshake: PeerHandshake | undefined;
    }
  | { readonly kind: 'ready'; readonly sinceMs: number; readonly handshake: PeerHandshake }
  | {
      readonly kind: 'closed';
      readonly cause: CloseCause;
      readonly reason: string;
      /** How long the connection was ready; undefined where it never was. */
      readonly readyForMs: number | undefined;
    };

export interface PeerSettings {
  readonly networkID: number;
  readonly dialTimeoutMs: number;
  readonly tlsTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  /** A peer that is ready but says nothing for this long is closed. */
  readonly silenceTimeoutMs: number;
  /** A peer that said nothing for this long is pinged. */
  readonly pingAfterMs: number;
  /** Bytes that may wait for a slow peer; what would exceed them is not sent. */
  readonly maxSendQueueBytes: number;
}

export interface PeerEvents {
  /** Our own Handshake. Asked for each connection, since it carries the time. */
  createHandshake(): PeerMessageInit;
  /** @param peerList the addresses with which the peer confirmed our Handshake */
  onReady(peer: Peer, handshake: PeerHandshake, peerList: PeerList): void;
  onPeerList(peer: Peer, peerList: PeerList): void;
  onAppResponse(peer: Peer, response: AppResponse): void;
  onAppError(peer: Peer, error: AppError): void;
  /** Called once, at the end. */
  onClosed(peer: Peer, state: PeerState & { kind: 'closed' }): void;
  onBytes(direction: 'sent' | 'received', count: number): void;
}

/** Time a peer may keep us busy between two ticks: a fifth of them, so that no peer alone can starve the others. */
const MAX_BUSY_MS_PER_TICK = 50;
/** 64 entries of a PeerList with certificates of 2 KiB; longer messages are consensus, which is no concern of ours. */
const MAX_MESSAGE_LENGTH = 256 * 1024;

const PING = encodeMessage({ case: 'ping', value: { uptime: 100 } });
const PONG = encodeMessage({ case: 'pong', value: {} });
const EMPTY_PEER_LIST = encodeMessage({ case: 'peerList', value: { claimedIpPorts: [] } });

/**
 * One connection that we open to a node, from the dial to the end. It has no timers of its own: {@link Peer.tick} is to be
 * called a few times a second, which for thousands of connections costs less than timers for each.
 *
 * Trust: nothing of what comes is believed before it is checked. The node is who its certificate says, once TLS stands.
 */
export class Peer {
  readonly nodeID: NodeID;
  readonly endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #settings: PeerSettings;
  readonly #events: PeerEvents;
  readonly #socket: TLSSocket;
  readonly #decoder = new FrameDecoder();
  #state: PeerState;
  /** Payloads of the last chunk that were not handled yet, because the peer had used up its time. */
  #inbox: Uint8Array[] = [];
  #inboxNext = 0;
  #busyMs = 0;
  #lastReceivedMs: number;
  #lastPingMs: number;
  #pingCount = 0;
  #pongCount = 0;

  constructor(
    nodeID: NodeID,
    endpoint: Endpoint,
    options: { clock: Clock; secureContext: SecureContext; settings: PeerSettings; events: PeerEvents },
  ) {
    this.nodeID = nodeID;
    this.endpoint = endpoint;
    this.#clock = options.clock;
    this.#settings = options.settings;
    this.#events = options.events;
    const nowMs = this.#clock.monotonicMs();
    this.#lastReceivedMs = nowMs;
    this.#lastPingMs = nowMs;
    this.#state = { kind: 'dialing', untilMs: nowMs + this.#settings.dialTimeoutMs };
    this.#socket = connect({
      host: endpoint.host,
      port: endpoint.port,
      secureContext: options.secureContext,
      // Certificates are self-signed and nameless: the identity is checked by us, in #onSecure.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    this.#socket.setNoDelay(true);
    this.#socket
      .on('connect', () => this.#onConnect())
      .on('secureConnect', () => this.#onSecure())
      .on('data', (chunk: Buffer) => this.#onData(chunk))
      .on('error', (error: NodeJS.ErrnoException) => this.#onEnd(error))
      .on('end', () => this.#onEnd(undefined))
      .on('close', () => this.#onEnd(undefined));
  }

  get state(): PeerState {
    return this.#state;
  }

  /** Sends a payload, or says why it cannot: a peer that does not read must not fill our memory. */
  send(payload: Uint8Array): string | undefined {
    if (this.#state.kind !== 'handshaking' && this.#state.kind !== 'ready') return 'not connected';
    const frame = encodeFrame(payload);
    if (this.#socket.writableLength + frame.length > this.#settings.maxSendQueueBytes) return 'send queue full';
    this.#socket.write(frame);
    this.#events.onBytes('sent', frame.length);
    return undefined;
  }

  /** Sends a Ping; returns whether its Pong has come by now, whenever asked. Peers answer in order. */
  ping(): () => boolean {
    this.#lastPingMs = this.#clock.monotonicMs();
    if (this.send(PING) !== undefined) return () => false;
    this.#pingCount += 1;
    const number = this.#pingCount;
    return () => this.#pongCount >= number;
  }

  close(cause: CloseCause, reason: string): void {
    if (this.#state.kind === 'closed') return;
    const readyForMs = this.#state.kind === 'ready' ? this.#clock.monotonicMs() - this.#state.sinceMs : undefined;
    this.#inbox = [];
    this.#socket.destroy();
    this.#setState({ kind: 'closed', cause, reason, readyForMs });
  }

  /** Checks the deadlines, pings, and goes on with what a busy peer has sent. */
  tick(nowMs: number): void {
    const { settings, state } = { settings: this.#settings, state: this.#state };
    switch (state.kind) {
      case 'dialing':
        if (nowMs >= state.untilMs) this.close('unreachable', `no answer to TCP within ${settings.dialTimeoutMs} ms`);
        return;
      case 'tls':
        if (nowMs >= state.untilMs) this.close('tls', `no answer to TLS within ${settings.tlsTimeoutMs} ms`);
        return;
      case 'handshaking':
        this.#resume();
        if (nowMs >= state.untilMs) {
          this.close('handshake', `no complete handshake within ${settings.handshakeTimeoutMs} ms`);
        }
        return;
      case 'ready':
        this.#resume();
        this.#keepAlive(nowMs);
        return;
      case 'closed':
        return;
    }
  }

  #setState(next: PeerState): void {
    this.#state = next;
    if (next.kind === 'closed') this.#events.onClosed(this, next);
  }

  #onConnect(): void {
    if (this.#state.kind !== 'dialing') return;
    this.#setState({ kind: 'tls', untilMs: this.#clock.monotonicMs() + this.#settings.tlsTimeoutMs });
  }

  #onSecure(): void {
    if (this.#state.kind !== 'tls') return;
    const certificate = this.#peerCertificate();
    if (certificate === undefined) return;
    if (certificate.nodeID !== this.nodeID) {
      this.close('wrong_node', `another node answers there: ${certificate.nodeID}`);
      return;
    }
    this.#setState({
      kind: 'handshaking',
      untilMs: this.#clock.monotonicMs() + this.#settings.handshakeTimeoutMs,
      certificate,
      handshake: undefined,
    });
  }

  #peerCertificate(): StakingCertificate | undefined {
    try {
      const der = this.#socket.getPeerX509Certificate()?.raw;
      if (der === undefined) throw new ParseError('staking certificate', 'is missing');
      return parseStakingCertificate(new Uint8Array(der));
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.close('tls', error.message);
      return undefined;
    }
  }

  #onData(chunk: Buffer): void {
    if (this.#state.kind === 'closed') return;
    this.#events.onBytes('received', chunk.length);
    try {
      const payloads = this.#decoder.push(chunk);
      // A chunk read before the socket was paused may still come while earlier payloads wait.
      this.#inbox = [...this.#inbox.slice(this.#inboxNext), ...payloads];
      this.#inboxNext = 0;
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.close('protocol', `broke the protocol: ${error.message}`);
      return;
    }
    this.#handleInbox();
  }

  #resume(): void {
    // What one message took too long is paid off over several ticks.
    this.#busyMs = Math.max(0, this.#busyMs - MAX_BUSY_MS_PER_TICK);
    if (this.#socket.isPaused() && this.#busyMs <= MAX_BUSY_MS_PER_TICK) {
      this.#socket.resume();
      this.#handleInbox();
    }
  }

  #handleInbox(): void {
    for (;;) {
      if (this.#busyMs > MAX_BUSY_MS_PER_TICK) {
        this.#socket.pause();
        return;
      }
      const payload = this.#inbox[this.#inboxNext];
      if (payload === undefined) {
        this.#inbox = [];
        this.#inboxNext = 0;
        return;
      }
      this.#inboxNext += 1;
      const startMs = this.#clock.monotonicMs();
      this.#handlePayload(payload, startMs);
      this.#busyMs += this.#clock.monotonicMs() - startMs;
    }
  }

  #handlePayload(payload: Uint8Array, nowMs: number): void {
    try {
      const message = parseMessage(payload, MAX_MESSAGE_LENGTH);
      this.#lastReceivedMs = nowMs;
      switch (message.case) {
        case 'handshake':
          this.#onHandshake(message.value);
          return;
        case 'peerList':
          this.#onPeerList(message.value);
          return;
        case 'ping':
          this.send(PONG);
          return;
        case 'appResponse':
          if (this.#state.kind === 'ready') this.#events.onAppResponse(this, message.value);
          return;
        case 'appError':
          if (this.#state.kind === 'ready') this.#events.onAppError(this, message.value);
          return;
        case 'pong':
          this.#pongCount += 1;
          return;
        // We have no chain to serve, no gossip to pass on and no addresses to give.
        case 'appRequest':
        case 'appGossip':
        case 'getPeerList':
        case undefined:
          return;
      }
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.close('protocol', `broke the protocol: ${error.message}`);
    }
  }

  #onHandshake(message: Handshake): void {
    if (this.#state.kind !== 'handshaking' || this.#state.handshake !== undefined) {
      this.close('protocol', 'broke the protocol: a second Handshake');
      return;
    }
    const { certificate } = this.#state;
    try {
      const { networkID } = this.#settings;
      const handshake = parseHandshake(message, { networkID, nowMs: this.#clock.now(), certificate });
      this.#setState({ ...this.#state, handshake });
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.close('handshake', error.message);
      return;
    }
    // Only now, though it costs a round trip: nodes drop what they have yet to send when they refuse a Handshake, so that
    // one sent before theirs is here would leave us without the reason. Theirs never waits for ours.
    this.send(encodeMessage(this.#events.createHandshake()));
    // Until it has come, the peer drops our app messages in silence.
    this.send(EMPTY_PEER_LIST);
  }

  #onPeerList(peerList: PeerList): void {
    if (this.#state.kind === 'ready') {
      this.#events.onPeerList(this, peerList);
      return;
    }
    // The peer sends its first one when it has accepted our Handshake.
    if (this.#state.kind !== 'handshaking' || this.#state.handshake === undefined) return;
    const { handshake } = this.#state;
    this.#setState({ kind: 'ready', sinceMs: this.#clock.monotonicMs(), handshake });
    this.#events.onReady(this, handshake, peerList);
  }

  #keepAlive(nowMs: number): void {
    const silentForMs = nowMs - this.#lastReceivedMs;
    if (silentForMs >= this.#settings.silenceTimeoutMs) {
      this.close('silent', `silent for ${this.#settings.silenceTimeoutMs} ms`);
    } else if (silentForMs >= this.#settings.pingAfterMs && nowMs - this.#lastPingMs >= this.#settings.pingAfterMs) {
      this.ping();
    }
  }

  #onEnd(error: NodeJS.ErrnoException | undefined): void {
    const { state } = this;
    switch (state.kind) {
      case 'dialing':
        this.close('unreachable', describeSocketError(error) ?? 'closed before TLS');
        return;
      case 'tls':
        this.close('tls', `TLS failed: ${describeSocketError(error) ?? 'closed by the node, which limits reconnects'}`);
        return;
      case 'handshaking':
        if (state.handshake === undefined) {
          this.close('not_admitted', `not admitted: ${describeSocketError(error) ?? 'closed without a handshake'}`);
        } else {
          const how = describeSocketError(error) ?? 'closed by the node';
          this.close('handshake', `our handshake was refused: ${how}`);
        }
        return;
      case 'ready':
        this.close('lost', `connection lost: ${describeSocketError(error) ?? 'closed by the node'}`);
        return;
      case 'closed':
        return;
    }
  }
}

const SOCKET_ERRORS: ReadonlyMap<string | undefined, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['ETIMEDOUT', 'connection timed out'],
  ['EHOSTUNREACH', 'no route to the host'],
  ['ENETUNREACH', 'no route to the host'],
  ['ENOTFOUND', 'host name not found'],
  ['EAI_AGAIN', 'host name not found'],
  ['EMFILE', 'too many open files here'],
  ['ENFILE', 'too many open files here'],
]);

/** A short text for people; undefined where the other side closed in good order. */
function describeSocketError(error: (NodeJS.ErrnoException & { reason?: string }) | undefined): string | undefined {
  // OpenSSL puts the alert of the other side into a field of its own.
  return error && (SOCKET_ERRORS.get(error.code) ?? error.reason ?? error.code ?? error.message);
}
