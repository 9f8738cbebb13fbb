import type { Clock } from '../../lib/concurrency/clock.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { Endpoint } from '../discovery/address-book.ts';
import type { AppError, AppResponse, Handshake, PeerList } from '../gen/p2p_pb.js';
import { parseStakingCertificate, type StakingCertificate } from '../identity/certificate.ts';
import { encodeFrame, encodeFrameStart } from '../wire/frames.ts';
import { encodeMessage, type PeerMessageInit, parseMessage } from '../wire/messages.ts';
import type { NoRoom, NotConnected } from './app-requests.ts';
import type { Connection, Dial } from './dial.ts';
import { type PeerIntroduction, parseHandshake } from './handshake.ts';
import { PacedInbox } from './paced-inbox.ts';

/** Why a connection ended, as a label; the reason beside it is for people. */
export type CloseCause =
  /** TCP failed or timed out. */
  | 'unreachable'
  /** TLS failed or timed out. */
  | 'tls'
  /** Another node answers at this address. */
  | 'wrong_node'
  /** The node closed after TLS without a word: it lets in only validators or listed nodes, or refused our certificate. */
  | 'not_admitted'
  /** Either side refused the other's Handshake, or it did not come. */
  | 'handshake'
  /** The peer broke the rules of the protocol. */
  | 'protocol'
  /** Nothing came for too long. */
  | 'silent'
  /** It was ready, then it broke. */
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
      /** Undefined until the peer's Handshake has come and passed our checks. */
      readonly handshake: PeerIntroduction | undefined;
    }
  | { readonly kind: 'ready'; readonly sinceMs: number; readonly handshake: PeerIntroduction }
  | {
      readonly kind: 'closed';
      readonly cause: CloseCause;
      readonly reason: string;
      /** How long the connection was ready; undefined where it never was. */
      readonly readyForMs: number | undefined;
    };

/** Bounds and times of one connection. */
export interface ConnectionLimits {
  /** For TCP to stand. */
  readonly dialTimeoutMs: number;
  /** For TLS to stand. A frozen node takes the TCP connection and hangs here. */
  readonly tlsTimeoutMs: number;
  /** For both Handshakes and the PeerLists that confirm them. */
  readonly handshakeTimeoutMs: number;
  /** A peer that is ready but says nothing for this long is closed. */
  readonly silenceTimeoutMs: number;
  /** A peer that said nothing for this long is pinged. */
  readonly pingAfterMs: number;
  /** Bytes that may wait for a slow peer. A message that would exceed them is not sent. */
  readonly maxSendQueueBytes: number;
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  dialTimeoutMs: 10_000,
  // The reference node gives up TLS after 15 s, and one that is alive answers within a second.
  tlsTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  // The reference node allows 30 s of silence; this adds a margin for a ping that is still on its way to us.
  silenceTimeoutMs: 35_000,
  pingAfterMs: 12_000,
  // Twice the longest frame; a signature request has some 300 bytes.
  maxSendQueueBytes: 4 * 1024 * 1024,
};

export interface PeerOptions {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly networkID: number;
  readonly limits: ConnectionLimits;
  readonly events: PeerEvents;
  /** Shared by all peers. */
  readonly scheduler: EventLoopScheduler;
}

export interface PeerEvents {
  /** Our own Handshake. Called for each connection, since it carries the time. */
  createHandshake(): PeerMessageInit;
  /** @param peerList the addresses with which the peer confirmed our Handshake */
  onReady(peer: Peer, handshake: PeerIntroduction, peerList: PeerList): void;
  onPeerList(peer: Peer, peerList: PeerList): void;
  onAppResponse(peer: Peer, response: AppResponse): void;
  onAppError(peer: Peer, error: AppError): void;
  /** Called once, at the end. */
  onClosed(peer: Peer, state: PeerState & { kind: 'closed' }): void;
  onBytes(direction: 'sent' | 'received', count: number): void;
}

/** 64 entries of a PeerList with certificates of 2 KiB. Longer messages belong to consensus, which we take no part in. */
const MAX_MESSAGE_LENGTH = 256 * 1024;

/** Up to here a copy costs less than a second write. */
const MAX_COPIED_BYTES = 4 * 1024;
const NOTHING = new Uint8Array(0);
const NOT_CONNECTED: NotConnected = { kind: 'unreachable', reason: 'not connected' };
const QUEUE_FULL: NoRoom = { kind: 'not_asked', reason: 'queue_full' };

const PING = encodeMessage({ case: 'ping', value: { uptime: 100 } });
const PONG = encodeMessage({ case: 'pong', value: {} });
const EMPTY_PEER_LIST = encodeMessage({ case: 'peerList', value: { claimedIpPorts: [] } });

/**
 * One connection that we open to a node, from the dial to the end. It has no timers of its own. Call {@link Peer.tick} a few
 * times a second: for thousands of connections this costs less than timers for each.
 *
 * Trust: nothing that comes is believed before it is checked. Once TLS stands, the node is the one its certificate names.
 */
export class Peer {
  readonly nodeID: NodeID;
  readonly endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #networkID: number;
  readonly #limits: ConnectionLimits;
  readonly #events: PeerEvents;
  readonly #connection: Connection;
  readonly #inbox: PacedInbox;
  #state: PeerState;
  #lastReceivedMs: number;
  #lastPingMs: number;
  #pingCount = 0;
  #pongCount = 0;

  constructor(nodeID: NodeID, endpoint: Endpoint, options: PeerOptions) {
    this.nodeID = nodeID;
    this.endpoint = endpoint;
    this.#clock = options.clock;
    this.#networkID = options.networkID;
    this.#limits = options.limits;
    this.#events = options.events;
    const nowMs = this.#clock.monotonicMs();
    this.#lastReceivedMs = nowMs;
    this.#lastPingMs = nowMs;
    this.#state = { kind: 'dialing', untilMs: nowMs + this.#limits.dialTimeoutMs };
    this.#connection = options.dial(endpoint, {
      onConnect: () => this.#onConnect(),
      onSecure: (certificate) => this.#onSecure(certificate),
      onData: (chunk) => this.#onData(chunk),
      onEnd: (reason) => this.#onEnd(reason),
    });
    this.#inbox = new PacedInbox({
      clock: this.#clock,
      scheduler: options.scheduler,
      key: nodeID,
      handle: (payload, payloadMs) => this.#handlePayload(payload, payloadMs),
      onBroken: (error) => this.#onBroken(error),
      source: this.#connection,
    });
  }

  get state(): PeerState {
    return this.#state;
  }

  /**
   * Sends a payload, or says why it cannot: a peer that does not read must not fill our memory.
   *
   * @param rest of the payload. Where it is long it is not copied, as the same bytes may be on their way to others
   */
  send(payload: Uint8Array, rest: Uint8Array = NOTHING): NotConnected | NoRoom | undefined {
    if (this.#state.kind !== 'handshaking' && this.#state.kind !== 'ready') return NOT_CONNECTED;
    const isRestApart = rest.length > MAX_COPIED_BYTES;
    const frame = isRestApart ? encodeFrameStart(payload, rest.length) : encodeFrame(concatBytes(payload, rest));
    const length = frame.length + (isRestApart ? rest.length : 0);
    if (this.#connection.queuedBytes + length > this.#limits.maxSendQueueBytes) return QUEUE_FULL;
    this.#connection.write(frame);
    if (isRestApart) this.#connection.write(rest);
    this.#events.onBytes('sent', length);
    return undefined;
  }

  /** Sends a Ping. The function returned says whether its Pong has come by the time of the call: peers answer in order. */
  ping(): () => boolean {
    this.#lastPingMs = this.#clock.monotonicMs();
    if (this.send(PING) !== undefined) return () => false;
    this.#pingCount += 1;
    const number = this.#pingCount;
    return () => this.#pongCount >= number;
  }

  /** Handles now what has come and waits for its turn, before a request is taken for unanswered. */
  handleReceived(): void {
    this.#inbox.drain();
  }

  close(cause: CloseCause, reason: string): void {
    if (this.#state.kind === 'closed') return;
    const readyForMs = this.#state.kind === 'ready' ? this.#clock.monotonicMs() - this.#state.sinceMs : undefined;
    this.#inbox.clear();
    this.#connection.close();
    this.#setState({ kind: 'closed', cause, reason, readyForMs });
  }

  /**
   * Checks the deadlines, sends a ping where one is due, and goes on with messages that had to wait because the peer had sent too many.
   *
   * @param mayPing whether a ping that is due may be sent now; else it is in the next tick
   * @returns whether one was sent
   */
  tick(nowMs: number, mayPing = true): boolean {
    const limits = this.#limits;
    const state = this.#state;
    switch (state.kind) {
      case 'dialing':
        if (nowMs >= state.untilMs) this.close('unreachable', `no answer to TCP within ${limits.dialTimeoutMs} ms`);
        return false;
      case 'tls':
        if (nowMs >= state.untilMs) this.close('tls', `no answer to TLS within ${limits.tlsTimeoutMs} ms`);
        return false;
      case 'handshaking':
        this.#inbox.tick();
        if (nowMs >= state.untilMs) {
          this.close('handshake', `no complete handshake within ${limits.handshakeTimeoutMs} ms`);
        }
        return false;
      case 'ready':
        this.#inbox.tick();
        return this.#keepAlive(nowMs, mayPing);
      case 'closed':
        return false;
    }
  }

  #setState(next: PeerState): void {
    this.#state = next;
    if (next.kind === 'closed') this.#events.onClosed(this, next);
  }

  #onConnect(): void {
    if (this.#state.kind !== 'dialing') return;
    this.#setState({ kind: 'tls', untilMs: this.#clock.monotonicMs() + this.#limits.tlsTimeoutMs });
  }

  #onSecure(der: Uint8Array | undefined): void {
    if (this.#state.kind !== 'tls') return;
    const certificate = this.#parseCertificate(der);
    if (certificate === undefined) return;
    if (certificate.nodeID !== this.nodeID) {
      this.close('wrong_node', `another node answers there: ${certificate.nodeID}`);
      return;
    }
    this.#setState({
      kind: 'handshaking',
      untilMs: this.#clock.monotonicMs() + this.#limits.handshakeTimeoutMs,
      certificate,
      handshake: undefined,
    });
  }

  #parseCertificate(der: Uint8Array | undefined): StakingCertificate | undefined {
    try {
      if (der === undefined) throw new ParseError('staking certificate', 'is missing');
      return parseStakingCertificate(new Uint8Array(der));
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.close('tls', error.message);
      return undefined;
    }
  }

  #onData(chunk: Uint8Array): void {
    if (this.#state.kind === 'closed') return;
    this.#events.onBytes('received', chunk.length);
    this.#inbox.push(chunk);
  }

  #onBroken({ message }: ParseError): void {
    this.close('protocol', `broke the protocol: ${message}`);
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
        // We serve no chain, pass on no gossip and have no addresses to give.
        case 'appRequest':
        case 'appGossip':
        case 'getPeerList':
        case undefined:
          return;
      }
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.#onBroken(error);
    }
  }

  #onHandshake(message: Handshake): void {
    if (this.#state.kind !== 'handshaking' || this.#state.handshake !== undefined) {
      this.close('protocol', 'broke the protocol: a second Handshake');
      return;
    }
    const { certificate } = this.#state;
    try {
      const networkID = this.#networkID;
      const expected = { networkID, nowMs: this.#clock.now(), certificate };
      const { clientName, version, address } = parseHandshake(message, expected);
      this.#setState({ ...this.#state, handshake: { clientName, version, address } });
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.close('handshake', error.message);
      return;
    }
    // Ours waits for theirs, though that costs a round trip. A node that refuses a Handshake drops what it has not sent yet:
    // had we sent ours at once, its own could be lost, and with it what tells us the reason. Theirs never waits for ours.
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

  #keepAlive(nowMs: number, mayPing: boolean): boolean {
    const silentForMs = nowMs - this.#lastReceivedMs;
    if (silentForMs >= this.#limits.silenceTimeoutMs) {
      this.close('silent', `silent for ${this.#limits.silenceTimeoutMs} ms`);
      return false;
    }
    const { pingAfterMs } = this.#limits;
    const isDue = silentForMs >= pingAfterMs && nowMs - this.#lastPingMs >= pingAfterMs;
    if (isDue && mayPing) this.ping();
    return isDue && mayPing;
  }

  #onEnd(reason: string | undefined): void {
    this.handleReceived();
    const { state } = this;
    switch (state.kind) {
      case 'dialing':
        this.close('unreachable', reason ?? 'closed before TLS');
        return;
      case 'tls':
        this.close('tls', `TLS failed: ${reason ?? 'closed by the node, which limits reconnects'}`);
        return;
      case 'handshaking':
        if (state.handshake === undefined) {
          this.close('not_admitted', `not admitted: ${reason ?? 'closed without a handshake'}`);
        } else {
          const how = reason ?? 'closed by the node';
          this.close('handshake', `our handshake was refused: ${how}`);
        }
        return;
      case 'ready':
        this.close('lost', `connection lost: ${reason ?? 'closed by the node'}`);
        return;
      case 'closed':
        return;
    }
  }
}
