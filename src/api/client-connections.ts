import type { Socket } from 'node:net';
import type { Clock } from '../primitives/clock.ts';
import { ClientConnection, type ClientConnectionOptions } from './client-connection.ts';

/**
 * Pipelined requests that wait, over all connections. One that waits has some 3 KB. Those of a client that pipelines a thousand are
 * served; beyond this bound, the connection with most of them is broken off.
 */
const MAX_WAITING = 16_384;
/** Bytes of answers that clients have not taken, over all connections: a fraction of what the service has in memory anyway. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** A client that takes nothing for so long, though there is something for it, does not come back for it. */
const READ_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 5_000;

export type BreakOffReason = 'does not read' | 'has most unread bytes of all' | 'has most waiting requests of all';

export interface ClientConnectionsOptions extends Pick<ClientConnectionOptions, 'clock' | 'listener'> {
  /** Told of each connection that is broken off. */
  readonly onBreakOff: (reason: BreakOffReason) => void;
}

interface Account {
  waiting: number;
  unreadBytes: number;
  takenBytes: number;
  /** When it last took something, or had nothing to take. */
  takenMs: number;
}

/** All connections, and the bounds that they have together. A connection that goes beyond them ends; the others do not notice. */
export class ClientConnections {
  readonly #clock: Clock;
  readonly #options: ClientConnectionsOptions;
  readonly #bySocket = new Map<Socket, ClientConnection>();
  readonly #accounts = new Map<ClientConnection, Account>();
  #waiting = 0;
  #unreadBytes = 0;
  #cancelLook: (() => void) | undefined;

  constructor(options: ClientConnectionsOptions) {
    this.#clock = options.clock;
    this.#options = options;
  }

  open(socket: Socket): void {
    const { clock, listener } = this.#options;
    const connection = new ClientConnection(socket, {
      clock,
      listener,
      onChange: (changed) => this.#measure(changed),
    });
    this.#bySocket.set(socket, connection);
    this.#accounts.set(connection, {
      waiting: 0,
      unreadBytes: 0,
      takenBytes: connection.takenBytes,
      takenMs: this.#clock.monotonicMs(),
    });
    socket.once('close', () => this.#forget(connection));
  }

  get(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  [Symbol.iterator](): IterableIterator<ClientConnection> {
    return this.#bySocket.values();
  }

  /** Lets no timer outlive the server. */
  stop(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }

  #forget(connection: ClientConnection): void {
    const account = this.#accounts.get(connection);
    if (account === undefined) return;
    this.#waiting -= account.waiting;
    this.#unreadBytes -= account.unreadBytes;
    this.#accounts.delete(connection);
    this.#bySocket.delete(connection.socket);
    if (this.#accounts.size === 0) this.stop();
  }

  #measure(connection: ClientConnection): void {
    const account = this.#accounts.get(connection);
    if (account === undefined) return;
    this.#update(connection, account);
    if (this.#waiting > MAX_WAITING) this.#breakOffGreediest('waiting', 'has most waiting requests of all');
    if (this.#unreadBytes <= MAX_UNREAD_BYTES) return;
    // What was measured earlier may have been taken since.
    for (const [each, ofEach] of this.#accounts) this.#update(each, ofEach);
    while (this.#unreadBytes > MAX_UNREAD_BYTES) {
      this.#breakOffGreediest('unreadBytes', 'has most unread bytes of all');
    }
  }

  #update(connection: ClientConnection, account: Account): void {
    const { waiting, unreadBytes, takenBytes } = connection;
    this.#waiting += waiting - account.waiting;
    this.#unreadBytes += unreadBytes - account.unreadBytes;
    if (account.unreadBytes === 0 || takenBytes !== account.takenBytes) account.takenMs = this.#clock.monotonicMs();
    account.waiting = waiting;
    account.unreadBytes = unreadBytes;
    account.takenBytes = takenBytes;
    if (unreadBytes > 0 || !connection.isIdle)
      this.#cancelLook ??= this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  #breakOffGreediest(what: 'waiting' | 'unreadBytes', reason: BreakOffReason): void {
    let greediest: ClientConnection | undefined;
    let most = 0;
    for (const [connection, account] of this.#accounts) {
      if (account[what] <= most) continue;
      most = account[what];
      greediest = connection;
    }
    if (greediest !== undefined) this.#breakOff(greediest, reason);
  }

  #breakOff(connection: ClientConnection, reason: BreakOffReason): void {
    // Before it says so itself.
    this.#forget(connection);
    connection.breakOff();
    this.#options.onBreakOff(reason);
  }

  /** Breaks off connections whose clients have stopped reading. */
  #look(): void {
    this.#cancelLook = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const [connection, account] of this.#accounts) {
      this.#update(connection, account);
      if (nowMs - account.takenMs >= READ_TIMEOUT_MS) this.#breakOff(connection, 'does not read');
    }
  }
}
