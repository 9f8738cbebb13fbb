import type { Socket } from 'node:net';
import { clientNetwork } from '../access/client-identity.ts';
import { ClientConnection, type ClientConnectionOptions } from './client-connection.ts';

/** Bytes of memory that all connections may hold together: see {@link ClientConnection.heldBytes}. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

export type BreakOffReason = 'does not read' | 'holds most memory of all' | 'there are too many connections';

export interface ClientConnectionsOptions extends Pick<ClientConnectionOptions, 'clock' | 'listener' | 'onOver'> {
  /** Each has a file descriptor, some 20 KB, and what has arrived of a request; the files of a process are bounded. */
  readonly maxConnections: number;
  /** Called for each connection that is broken off. */
  readonly onBreakOff: (reason: BreakOffReason) => void;
}

/** All connections of a listener, and the bounds that they have together. A connection beyond them ends; the others go on. */
export class ClientConnections {
  readonly #options: ClientConnectionsOptions;
  readonly #bySocket = new Map<Socket, ClientConnection>();
  /** Connections of each address. */
  readonly #counts = new Map<string, number>();
  /** As last measured. */
  readonly #held = new Map<ClientConnection, number>();
  #heldBytes = 0;

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  open(socket: Socket): void {
    if (this.#bySocket.size >= this.#options.maxConnections && !this.#makeRoom()) {
      socket.destroy();
      this.#options.onBreakOff('there are too many connections');
      return;
    }
    const address = clientNetwork(socket.remoteAddress ?? '');
    const connection = new ClientConnection(socket, address, {
      ...this.#options,
      onChange: (changed) => this.measure(changed),
    });
    this.#bySocket.set(socket, connection);
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    socket.once('close', () => this.#forget(connection));
  }

  get(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  [Symbol.iterator](): IterableIterator<ClientConnection> {
    return this.#bySocket.values();
  }

  /** Counts anew what is held for a connection, and ends those that hold most where all hold too much. */
  measure(connection: ClientConnection): void {
    this.#update(connection);
    if (this.#heldBytes <= MAX_HELD_BYTES) return;
    // Clients may have taken more since the last look.
    for (const each of this.#held.keys()) this.#update(each);
    while (this.#heldBytes > MAX_HELD_BYTES) this.#breakOffGreediest();
  }

  breakOff(connection: ClientConnection, reason: BreakOffReason): void {
    this.#forget(connection);
    connection.destroy();
    this.#options.onBreakOff(reason);
  }

  #update(connection: ClientConnection): void {
    const before = this.#held.get(connection) ?? 0;
    const now = this.#bySocket.has(connection.socket) ? connection.heldBytes : 0;
    if (now === before) return;
    this.#heldBytes += now - before;
    if (now === 0) this.#held.delete(connection);
    else this.#held.set(connection, now);
  }

  #forget(connection: ClientConnection): void {
    const { socket, address } = connection;
    if (!this.#bySocket.delete(socket)) return;
    this.#update(connection);
    const count = (this.#counts.get(address) ?? 0) - 1;
    if (count > 0) this.#counts.set(address, count);
    else this.#counts.delete(address);
  }

  /**
   * Ends an idle connection for a new one: of the address with most connections, the one that is idle for longest. So a client that holds
   * many makes room for the others.
   */
  #makeRoom(): boolean {
    let chosen: ClientConnection | undefined;
    let most = 0;
    for (const connection of this) {
      const count = this.#counts.get(connection.address) ?? 0;
      if (!connection.isIdle || count < most) continue;
      if (count === most && chosen !== undefined && chosen.idleSinceMs <= connection.idleSinceMs) continue;
      chosen = connection;
      most = count;
    }
    if (chosen !== undefined) this.breakOff(chosen, 'there are too many connections');
    return chosen !== undefined;
  }

  /** Of the address that holds most, the connection that holds most: spreading it over hundreds of connections gains nothing. */
  #breakOffGreediest(): void {
    const ofAddresses = new Map<string, number>();
    for (const [{ address }, bytes] of this.#held) ofAddresses.set(address, (ofAddresses.get(address) ?? 0) + bytes);
    const most = Math.max(...ofAddresses.values());
    let greediest: ClientConnection | undefined;
    for (const [connection, bytes] of this.#held) {
      if (ofAddresses.get(connection.address) !== most) continue;
      if (greediest === undefined || bytes > (this.#held.get(greediest) ?? 0)) greediest = connection;
    }
    if (greediest !== undefined) this.breakOff(greediest, 'holds most memory of all');
  }
}
