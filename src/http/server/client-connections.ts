import type { Socket } from 'node:net';
import { addTo } from '../../lib/encoding/counts.ts';
import { clientNetwork } from '../request/client-identity.ts';
import { ClientConnection, type ClientConnectionOptions } from './client-connection.ts';

/** Bound of {@link ClientConnection.heldBytes} over all connections. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

export type BreakOffReason =
  | 'does not read'
  | 'holds most memory of all'
  | 'sends too many small chunks'
  | 'there are too many connections';

export interface ClientConnectionsOptions extends Pick<ClientConnectionOptions, 'clock' | 'listener' | 'onEnd'> {
  /**
   * A further connection closes an idle one; if none is idle, it is closed itself. Each takes a file descriptor, some 20 KB, and the
   * received part of a request.
   */
  readonly maxConnections: number;
  /** Called for each connection that is closed for its client's behaviour. */
  readonly onBreakOff: (reason: BreakOffReason) => void;
}

/** The connections of a listener, with bounds of their number and memory. A connection beyond them is closed. */
export class ClientConnections {
  readonly #options: ClientConnectionsOptions;
  readonly #bySocket = new Map<Socket, ClientConnection>();
  readonly #counts = new Map<string, number>();
  readonly #held = new Map<ClientConnection, number>();
  #heldBytes = 0;

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  open(socket: Socket): void {
    const address = clientNetwork(socket.remoteAddress ?? '');
    const connection = new ClientConnection(socket, address, {
      ...this.#options,
      onChange: (changed) => this.measure(changed),
    });
    if (this.#bySocket.size >= this.#options.maxConnections && !this.#closeIdle()) {
      socket.destroy();
      this.#options.onBreakOff('there are too many connections');
      return;
    }
    this.#bySocket.set(socket, connection);
    addTo(this.#counts, address, 1);
    socket.once('close', () => this.#forget(connection));
  }

  get(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  [Symbol.iterator](): IterableIterator<ClientConnection> {
    return this.#bySocket.values();
  }

  /** Updates the held bytes of a connection, and closes the greediest connections while the bound is exceeded. */
  measure(connection: ClientConnection): void {
    this.#update(connection);
    if (this.#heldBytes <= MAX_HELD_BYTES) return;
    // Clients may have read more since the last measurement.
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
    addTo(this.#counts, address, -1);
  }

  /** Closes the connection that is idle for longest, of the address with most connections. @returns whether there was one */
  #closeIdle(): boolean {
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

  /** Closes the greediest connection of the greediest address, so that spreading over connections gains a client nothing. */
  #breakOffGreediest(): void {
    const byAddress = new Map<string, number>();
    for (const [{ address }, bytes] of this.#held) byAddress.set(address, (byAddress.get(address) ?? 0) + bytes);
    const most = Math.max(...byAddress.values());
    let greediest: ClientConnection | undefined;
    for (const [connection, bytes] of this.#held) {
      if (byAddress.get(connection.address) !== most) continue;
      if (greediest === undefined || bytes > (this.#held.get(greediest) ?? 0)) greediest = connection;
    }
    if (greediest !== undefined) this.breakOff(greediest, 'holds most memory of all');
  }
}
