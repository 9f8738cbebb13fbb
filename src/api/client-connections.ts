import type { Socket } from 'node:net';
import type { Clock } from '../primitives/clock.ts';
import { ClientConnection, type ClientConnectionOptions } from './client-connection.ts';
import { clientNetwork } from './client-network.ts';
import { RequestTurns } from './request-turns.ts';

/**
 * Pipelined requests that wait, over all connections. One that waits has some 3 KB. Those of a client that pipelines a thousand are
 * served; beyond this bound, a connection of the client with most of them is broken off.
 */
const MAX_WAITING = 16_384;
/**
 * Pipelined requests that wait, of one client. Beyond it, none of its connections is read until half of them are done: each chunk that
 * is read may bring some 3,000 requests and hold up everybody for 50 ms, and a client with a hundred connections sends a hundred
 * chunks at a time.
 */
const MAX_WAITING_OF_CLIENT = 1_024;
/** Bytes of answers that clients have not taken, over all connections: a fraction of what the service has in memory anyway. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** A client that takes nothing for so long, though there is something for it, does not come back for it. */
const READ_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 5_000;

export type BreakOffReason =
  | 'does not read'
  | 'has most unread bytes of all'
  | 'has most waiting requests of all'
  | 'there are too many connections';

export interface ClientConnectionsOptions extends Pick<ClientConnectionOptions, 'clock' | 'listener' | 'onOver'> {
  /** Each has a file descriptor, some 20 KB, and what has arrived of a request; the files of a process are bounded. */
  readonly maxConnections: number;
  /** Told of each connection that is broken off. */
  readonly onBreakOff: (reason: BreakOffReason) => void;
}

interface Account {
  /** Whose it is: its address, or the network of it. A proxy's connections are the proxy's. */
  readonly address: string;
  /** Since when it has had no request under way, where it has none. */
  idleSinceMs: number;
  waiting: number;
  unreadBytes: number;
  takenBytes: number;
  /** Where something is unread: when it last took something, or had nothing to take. */
  takenMs: number;
}

interface Client {
  /** In the order in which they came. */
  readonly connections: Set<ClientConnection>;
  waiting: number;
  isHeld: boolean;
}

/** All connections, and the bounds that they have together. A connection that goes beyond them ends; the others do not notice. */
export class ClientConnections {
  readonly #clock: Clock;
  readonly #options: ClientConnectionsOptions;
  readonly #bySocket = new Map<Socket, ClientConnection>();
  readonly #accounts = new Map<ClientConnection, Account>();
  readonly #clients = new Map<string, Client>();
  readonly #turns: RequestTurns;
  #waiting = 0;
  #unreadBytes = 0;
  #cancelLook: (() => void) | undefined;

  constructor(options: ClientConnectionsOptions) {
    this.#clock = options.clock;
    this.#turns = new RequestTurns(options.clock);
    this.#options = options;
  }

  open(socket: Socket): void {
    const { clock, listener, onOver } = this.#options;
    this.#turns.connectionOpened();
    if (this.#accounts.size >= this.#options.maxConnections && !this.#makeRoom()) {
      socket.destroy();
      this.#options.onBreakOff('there are too many connections');
      return;
    }
    const address = clientNetwork(socket.remoteAddress ?? '');
    const connection = new ClientConnection(socket, {
      clock,
      ...{ listener, ...(onOver && { onOver }) },
      begin: (handle) => this.#turns.run(address, handle),
      onChange: (changed) => this.measure(changed),
    });
    const client = this.#clients.get(address) ?? { connections: new Set(), waiting: 0, isHeld: false };
    this.#clients.set(address, client);
    client.connections.add(connection);
    // Node begins to read it in this turn, and a pause before that would be undone.
    if (client.isHeld) {
      clock.afterTurn(() => {
        if (client.isHeld) connection.hold();
      });
    }
    this.#bySocket.set(socket, connection);
    const nowMs = clock.monotonicMs();
    this.#accounts.set(connection, {
      address,
      idleSinceMs: nowMs,
      waiting: 0,
      unreadBytes: 0,
      takenBytes: connection.takenBytes,
      takenMs: nowMs,
    });
    closeWithoutStacks(socket);
    socket.once('close', () => this.#forget(connection));
  }

  get(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Counts anew what waits and is unread there, and breaks off the greediest where that is too much. */
  measure(connection: ClientConnection): void {
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

  [Symbol.iterator](): IterableIterator<ClientConnection> {
    return this.#bySocket.values();
  }

  /** Lets no timer outlive the server. */
  stop(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }

  /**
   * Ends an idle connection for a new one: of the addresses with idle connections that which has most of all, and there the one that
   * has been idle for longest. So who holds many makes room for the others, and whoever just came is not the first to go.
   */
  #makeRoom(): boolean {
    let chosen: { readonly connection: ClientConnection; readonly count: number; readonly sinceMs: number } | undefined;
    for (const { connections } of this.#clients.values()) {
      const count = connections.size;
      if (count < (chosen?.count ?? 0)) continue;
      for (const connection of connections) {
        const sinceMs = this.#accounts.get(connection)?.idleSinceMs ?? Number.POSITIVE_INFINITY;
        if (!connection.isIdle || (count === chosen?.count && sinceMs >= chosen.sinceMs)) continue;
        chosen = { connection, count, sinceMs };
      }
    }
    if (chosen !== undefined) this.#breakOff(chosen.connection, 'there are too many connections');
    return chosen !== undefined;
  }

  #forget(connection: ClientConnection): void {
    const account = this.#accounts.get(connection);
    if (account === undefined) return;
    this.#waiting -= account.waiting;
    this.#unreadBytes -= account.unreadBytes;
    this.#accounts.delete(connection);
    this.#bySocket.delete(connection.socket);
    this.#count(account, -account.waiting);
    const client = this.#clients.get(account.address);
    client?.connections.delete(connection);
    if (client?.connections.size === 0) this.#clients.delete(account.address);
    if (this.#accounts.size === 0) this.stop();
  }

  #update(connection: ClientConnection, account: Account): void {
    const { waiting, unreadBytes } = connection;
    // To be asked for only where it says something: Node copies a list for it.
    const takenBytes = unreadBytes + account.unreadBytes > 0 ? connection.takenBytes : account.takenBytes;
    this.#waiting += waiting - account.waiting;
    this.#count(account, waiting - account.waiting);
    this.#unreadBytes += unreadBytes - account.unreadBytes;
    // Where nothing is unread, it says nothing.
    const mayTake = unreadBytes > 0 && (account.unreadBytes === 0 || takenBytes !== account.takenBytes);
    if (mayTake) account.takenMs = this.#clock.monotonicMs();
    if (!connection.isIdle) account.idleSinceMs = Number.POSITIVE_INFINITY;
    else if (account.idleSinceMs === Number.POSITIVE_INFINITY) account.idleSinceMs = this.#clock.monotonicMs();
    account.waiting = waiting;
    account.unreadBytes = unreadBytes;
    account.takenBytes = takenBytes;
    if (unreadBytes > 0 || !connection.isIdle)
      this.#cancelLook ??= this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  /** Counts waiting requests for whose they are, and stops reading from a client with too many of them. */
  #count({ address }: Account, by: number): void {
    const client = this.#clients.get(address);
    if (client === undefined || by === 0) return;
    client.waiting += by;
    const isHeld = client.waiting > (client.isHeld ? MAX_WAITING_OF_CLIENT / 2 : MAX_WAITING_OF_CLIENT);
    if (isHeld === client.isHeld) return;
    client.isHeld = isHeld;
    for (const connection of client.connections) {
      if (isHeld) connection.hold();
      else connection.letGo();
    }
  }

  /** Of the client with most, the connection with most: else who spreads it over hundreds would have another's only one broken off. */
  #breakOffGreediest(what: 'waiting' | 'unreadBytes', reason: BreakOffReason): void {
    const ofClients = new Map<string, number>();
    let most = 0;
    for (const account of this.#accounts.values()) {
      const ofClient = (ofClients.get(account.address) ?? 0) + account[what];
      ofClients.set(account.address, ofClient);
      most = Math.max(most, ofClient);
    }
    let greediest: { readonly connection: ClientConnection; readonly amount: number } | undefined;
    for (const [connection, account] of this.#accounts) {
      const amount = account[what];
      if (ofClients.get(account.address) !== most || amount <= (greediest?.amount ?? 0)) continue;
      greediest = { connection, amount };
    }
    if (greediest !== undefined) this.#breakOff(greediest.connection, reason);
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
      if (account.unreadBytes > 0 && nowMs - account.takenMs >= READ_TIMEOUT_MS)
        this.#breakOff(connection, 'does not read');
    }
  }
}

/**
 * For each request that waits when its client goes, Node makes an error, of which it reads the stack. Nobody else does, and a client that
 * has pipelined thousands of requests would cost seconds by going.
 */
function closeWithoutStacks(socket: Socket): void {
  let { stackTraceLimit } = Error;
  // Before Node's own listener, and after it.
  socket.prependOnceListener('close', () => {
    ({ stackTraceLimit } = Error);
    Error.stackTraceLimit = 0;
  });
  socket.once('close', () => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}
