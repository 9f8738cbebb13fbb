import type { Clock } from '../../lib/concurrency/clock.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { concatBytes } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { AppError, AppResponse, Handshake, PeerList } from '../gen/p2p_pb.js';
import { parseStakingCertificate, type StakingCertificate } from '../identity/certificate.ts';
import { encodeFrame } from '../wire/frames.ts';
import type { Endpoint } from '../wire/ip-address.ts';
import { encodeMessage, type PeerMessage, parseMessage } from '../wire/messages.ts';
import type { SendFailure } from './app-requests.ts';
import type { Connection, Dial, TcpFailure } from './dial.ts';
import {
  ClockDifference,
  compareNodeVersions,
  formatVersion,
  type NodeVersion,
  OtherNetwork,
  type OwnHandshake,
  type PeerIntroduction,
  parseHandshake,
} from './handshake.ts';
import { PacedInbox } from './paced-inbox.ts';
import type { UnrequestedTime } from './unrequested-time.ts';

/** Why a connection ended, as a metric label. */
export const CLOSE_CAUSES = [
  /** TCP failed otherwise, or timed out. */
  'unreachable',
  /** No program listens at the address. */
  'tcp_refused',
  /** This process has no file descriptor left. */
  'no_files',
  /** TLS failed or timed out. */
  'tls',
  /** Another node has this address. */
  'wrong_node',
  /** The node closed right after TLS: it accepts only validators or listed nodes, or refused our certificate. */
  'not_admitted',
  /** The node's clock differs from ours by more than a minute. */
  'clock',
  /** The node belongs to another network. */
  'other_network',
  /** The node refused our Handshake, and its version is newer than the one we announce. */
  'version',
  /** Either side refused the other's Handshake for another reason, or it did not arrive. */
  'handshake',
  /** The peer violated the protocol. */
  'protocol',
  /** The peer sent more messages that we did not request than it may, for seconds. */
  'flood',
  /** Nothing was received for too long. */
  'silent',
  /** A ready connection broke. */
  'lost',
  /** No caller wants the connection. */
  'unwanted',
  /** A newer address of the node was received during the dial. */
  'superseded',
  /** This process stops. */
  'shutdown',
] as const;
export type CloseCause = (typeof CLOSE_CAUSES)[number];

/** Times are monotonic; `untilMs` is the deadline of the state. */
export type PeerState =
  | { readonly kind: 'dialing'; readonly untilMs: number }
  | { readonly kind: 'tls'; readonly untilMs: number }
  | {
      readonly kind: 'handshaking';
      readonly untilMs: number;
      readonly certificate: StakingCertificate;
      /** Undefined until the peer's Handshake was received and checked. */
      readonly handshake: PeerIntroduction | undefined;
    }
  | { readonly kind: 'ready'; readonly sinceMs: number; readonly handshake: PeerIntroduction }
  | {
      readonly kind: 'closed';
      readonly cause: CloseCause;
      readonly reason: string;
      /** Duration of the ready state; undefined if it was never ready. */
      readonly readyForMs: number | undefined;
      /** Clock of the node less ours, if the connection ended because of it. */
      readonly clockOffsetMs?: number | undefined;
    };

/**
 * For TCP, for TLS, and for both Handshakes with the PeerLists that confirm them. A frozen node accepts TCP and hangs in TLS; others
 * usually respond within a second.
 */
const STAGE_TIMEOUT_MS = 10_000;
/** A ready connection without received bytes is closed. The reference node allows 30 s; this adds a margin for a Pong on its way. */
const SILENCE_TIMEOUT_MS = 35_000;
/** A Ping is sent after this time without received bytes. */
const PING_AFTER_MS = 12_000;
/** A message that would exceed this queue is not sent. Twice the longest frame; a signature request takes some 300 bytes. */
export const MAX_SEND_QUEUE_BYTES = 4 * 1024 * 1024;

export interface PeerOptions {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly networkID: number;
  readonly maxSendQueueBytes: number;
  readonly events: PeerEvents;
  /** Shared by all peers. */
  readonly scheduler: EventLoopScheduler;
  /** Shared by all peers. */
  readonly unrequested: UnrequestedTime;
}

/** The three that receive messages of a ready peer return whether we requested the message. */
export interface PeerEvents {
  /** Creates our Handshake with the current time. */
  createHandshake(): OwnHandshake;
  /** @param peerList the addresses with which the peer confirmed our Handshake */
  onReady(peer: Peer, handshake: PeerIntroduction, peerList: PeerList): void;
  onPeerList(peer: Peer, peerList: PeerList): boolean;
  onAppResponse(peer: Peer, response: AppResponse): boolean;
  onAppError(peer: Peer, error: AppError): boolean;
  onClosed(peer: Peer, state: PeerState & { kind: 'closed' }): void;
  onBytes(direction: 'sent' | 'received', count: number): void;
}

/** 64 entries of a PeerList with certificates of 2 KiB. Longer messages belong to consensus. */
const MAX_MESSAGE_LENGTH = 256 * 1024;

/** A copy up to this length costs less than a second write. */
const MAX_COPIED_BYTES = 4 * 1024;
const NOTHING = new Uint8Array(0);
const NOT_CONNECTED: SendFailure = { kind: 'unreachable', reason: 'not connected' };
const QUEUE_FULL: SendFailure = { kind: 'not_asked', reason: 'queue_full' };

const PING = encodeMessage({ case: 'ping', value: { uptime: 100 } });
const PONG = encodeMessage({ case: 'pong', value: {} });
const EMPTY_PEER_LIST = encodeMessage({ case: 'peerList', value: { claimedIpPorts: [] } });

const TIMEOUTS = {
  dialing: { cause: 'unreachable', missing: 'no answer to TCP' },
  tls: { cause: 'tls', missing: 'no answer to TLS' },
  handshaking: { cause: 'handshake', missing: 'no complete handshake' },
} as const;

/**
 * Outgoing connection to a node, from dial to close. Call {@link Peer.tick} a few times a second: for thousands of connections this costs
 * less than timers for each.
 */
export class Peer {
  readonly nodeID: NodeID;
  readonly endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #options: PeerOptions;
  readonly #events: PeerEvents;
  readonly #connection: Connection;
  readonly #inbox: PacedInbox;
  #state: PeerState;
  #lastReceivedMs: number;
  #lastPingMs: number;
  /** Version in our Handshake, once it is sent. */
  #announced: NodeVersion | undefined;
  #pingCount = 0;
  #pongCount = 0;

  constructor(nodeID: NodeID, endpoint: Endpoint, options: PeerOptions) {
    this.nodeID = nodeID;
    this.endpoint = endpoint;
    this.#clock = options.clock;
    this.#options = options;
    this.#events = options.events;
    const nowMs = this.#clock.monotonicMs();
    this.#lastReceivedMs = nowMs;
    this.#lastPingMs = nowMs;
    this.#state = { kind: 'dialing', untilMs: nowMs + STAGE_TIMEOUT_MS };
    this.#connection = options.dial(endpoint, {
      onConnect: () => this.#onConnect(),
      onSecure: (certificate) => this.#onSecure(certificate),
      onData: (chunk) => this.#onData(chunk),
      onEnd: (reason, cause) => this.#onEnd(reason, cause),
    });
    this.#inbox = new PacedInbox({
      clock: this.#clock,
      scheduler: options.scheduler,
      unrequested: options.unrequested,
      key: nodeID,
      handle: (payload, payloadMs) => this.#handlePayload(payload, payloadMs),
      onBroken: (error) => this.#onBroken(error),
      onFlood: () => this.close('flood', 'sent too many messages that we did not request'),
      source: this.#connection,
    });
  }

  get state(): PeerState {
    return this.#state;
  }

  /**
   * Sends a payload, or returns why it cannot.
   *
   * @param rest end of the payload. It is not copied if it is long, because it may be queued for other peers, too
   */
  send(payload: Uint8Array, rest: Uint8Array = NOTHING): SendFailure | undefined {
    if (this.#state.kind !== 'handshaking' && this.#state.kind !== 'ready') return NOT_CONNECTED;
    const isRestApart = rest.length > MAX_COPIED_BYTES;
    const frame = isRestApart ? encodeFrame(payload, rest.length) : encodeFrame(concatBytes(payload, rest));
    const length = frame.length + (isRestApart ? rest.length : 0);
    if (this.#connection.queuedBytes + length > this.#options.maxSendQueueBytes) return QUEUE_FULL;
    this.#connection.write(frame);
    if (isRestApart) this.#connection.write(rest);
    this.#events.onBytes('sent', length);
    return undefined;
  }

  /** Sends a Ping. The returned function reports whether its Pong has arrived: peers respond in order. */
  ping(): () => boolean {
    this.#lastPingMs = this.#clock.monotonicMs();
    if (this.send(PING) !== undefined) return () => false;
    this.#pingCount += 1;
    const number = this.#pingCount;
    return () => this.#pongCount >= number;
  }

  /** Handles received messages now, before a request times out. */
  handleReceived(): void {
    this.#inbox.drain();
  }

  close(cause: CloseCause, reason: string, clockOffsetMs?: number): void {
    if (this.#state.kind === 'closed') return;
    const readyForMs = this.#state.kind === 'ready' ? this.#clock.monotonicMs() - this.#state.sinceMs : undefined;
    this.#inbox.clear();
    this.#connection.close();
    this.#setState({ kind: 'closed', cause, reason, readyForMs, clockOffsetMs });
  }

  /** Checks the deadlines, sends a Ping if due, and continues with messages over the peer's share of time. */
  tick(nowMs: number): void {
    const state = this.#state;
    if (state.kind === 'closed') return;
    if (state.kind === 'handshaking' || state.kind === 'ready') this.#inbox.tick();
    if (state.kind === 'ready') this.#keepAlive(nowMs);
    else if (nowMs >= state.untilMs) {
      const { cause, missing } = TIMEOUTS[state.kind];
      this.close(cause, `${missing} within ${STAGE_TIMEOUT_MS} ms`);
    }
  }

  #setState(next: PeerState): void {
    this.#state = next;
    if (next.kind === 'closed') this.#events.onClosed(this, next);
  }

  #onConnect(): void {
    if (this.#state.kind !== 'dialing') return;
    this.#setState({ kind: 'tls', untilMs: this.#clock.monotonicMs() + STAGE_TIMEOUT_MS });
  }

  #onSecure(der: Uint8Array | undefined): void {
    if (this.#state.kind !== 'tls') return;
    if (der === undefined) return this.close('tls', 'staking certificate: is missing');
    const certificate = attempt(() => parseStakingCertificate(new Uint8Array(der)));
    if (certificate instanceof ParseError) return this.close('tls', certificate.message);
    if (certificate.nodeID !== this.nodeID) {
      return this.close('wrong_node', `another node answers there: ${certificate.nodeID}`);
    }
    this.#setState({
      kind: 'handshaking',
      untilMs: this.#clock.monotonicMs() + STAGE_TIMEOUT_MS,
      certificate,
      handshake: undefined,
    });
  }

  #onData(chunk: Uint8Array): void {
    if (this.#state.kind === 'closed') return;
    this.#events.onBytes('received', chunk.length);
    this.#inbox.push(chunk);
  }

  #onBroken({ message }: ParseError): void {
    this.close('protocol', `broke the protocol: ${message}`);
  }

  /** @returns whether we requested the message */
  #handlePayload(payload: Uint8Array, nowMs: number): boolean {
    try {
      const message = parseMessage(payload, MAX_MESSAGE_LENGTH);
      this.#lastReceivedMs = nowMs;
      return this.#handle(message);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.#onBroken(error);
      return false;
    }
  }

  #handle(message: PeerMessage): boolean {
    const isReady = this.#state.kind === 'ready';
    switch (message.case) {
      case 'handshake':
        this.#onHandshake(message.value);
        return true;
      case 'peerList':
        return this.#onPeerList(message.value);
      case 'ping':
        this.send(PONG);
        return false;
      case 'appResponse':
        return isReady && this.#events.onAppResponse(this, message.value);
      case 'appError':
        return isReady && this.#events.onAppError(this, message.value);
      case 'pong':
        this.#pongCount += 1;
        return this.#pongCount <= this.#pingCount;
      // We serve no chain and pass on no gossip or addresses.
      case 'appRequest':
      case 'appGossip':
      case 'getPeerList':
      case undefined:
        return false;
    }
  }

  #onHandshake(message: Handshake): void {
    if (this.#state.kind !== 'handshaking' || this.#state.handshake !== undefined) {
      this.close('protocol', 'broke the protocol: a second Handshake');
      return;
    }
    const { certificate } = this.#state;
    const expected = { networkID: this.#options.networkID, nowMs: this.#clock.now(), certificate };
    const parsed = attempt(() => parseHandshake(message, expected));
    if (parsed instanceof ClockDifference) return this.close('clock', parsed.message, parsed.offsetMs);
    if (parsed instanceof OtherNetwork) return this.close('other_network', parsed.message);
    if (parsed instanceof ParseError) return this.close('handshake', parsed.message);
    const { clientName, version, address, clockOffsetMs } = parsed;
    this.#setState({ ...this.#state, handshake: { clientName, version, address, clockOffsetMs } });
    // Our Handshake is sent after the peer's, at the cost of a round trip: a node that refuses a Handshake drops its unsent messages, and
    // its own Handshake may contain the reason. Nodes never wait for a client's Handshake.
    const own = this.#events.createHandshake();
    this.#announced = own.version;
    this.send(encodeMessage(own.message));
    // The peer drops our app messages until it receives a PeerList.
    this.send(EMPTY_PEER_LIST);
  }

  #onPeerList(peerList: PeerList): boolean {
    if (this.#state.kind === 'ready') return this.#events.onPeerList(this, peerList);
    // The first PeerList confirms our Handshake.
    if (this.#state.kind !== 'handshaking' || this.#state.handshake === undefined) return false;
    const { handshake } = this.#state;
    this.#setState({ kind: 'ready', sinceMs: this.#clock.monotonicMs(), handshake });
    this.#events.onReady(this, handshake, peerList);
    return true;
  }

  #onRefused({ version }: PeerIntroduction, reason: string): void {
    const text = `our handshake was refused: ${reason}`;
    if (this.#announced === undefined || compareNodeVersions(version, this.#announced) <= 0) {
      return this.close('handshake', text);
    }
    const versions = `it runs ${formatVersion(version)}, and we announce ${formatVersion(this.#announced)}`;
    this.close('version', `${text}; ${versions}`);
  }

  #keepAlive(nowMs: number): void {
    const silentForMs = nowMs - this.#lastReceivedMs;
    if (silentForMs >= SILENCE_TIMEOUT_MS) return this.close('silent', `silent for ${SILENCE_TIMEOUT_MS} ms`);
    if (silentForMs >= PING_AFTER_MS && nowMs - this.#lastPingMs >= PING_AFTER_MS) this.ping();
  }

  #onEnd(reason: string | undefined, cause?: TcpFailure): void {
    this.handleReceived();
    const { state } = this;
    switch (state.kind) {
      case 'dialing':
        return this.close(cause ?? 'unreachable', reason ?? 'closed before TLS');
      case 'tls':
        return this.close('tls', `TLS failed: ${reason ?? 'closed by the node, which limits reconnects'}`);
      case 'handshaking':
        if (state.handshake === undefined) {
          return this.close('not_admitted', `not admitted: ${reason ?? 'closed without a handshake'}`);
        }
        return this.#onRefused(state.handshake, reason ?? 'closed by the node');
      case 'ready':
        return this.close('lost', `connection lost: ${reason ?? 'closed by the node'}`);
      case 'closed':
    }
  }
}
