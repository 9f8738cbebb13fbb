import { BlockList, isIPv6 } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import type { ClientConnection } from './client-connection.ts';

/** A pause after a connection was read, in multiples of the time that it took: new connections have a quarter of the thread. */
const PAUSE_FACTOR = 3;
/** Honest clients send less at first. It takes 2 to 4 ms to parse at worst. */
const SHORT_BYTES = 8 * 1024;
/** If it took so long to read what is short, the service is busy with the requests that it has, and all networks pause. */
const BUSY_MS = 2;
/** Short, because all wait, also probes. */
const MAX_BUSY_PAUSE_MS = 100;
const MAX_PAUSE_MS = 500;
/** What is read of a client network in one turn of the event loop. It takes 40 to 80 ms to parse at worst. */
const MAX_BYTES_PER_TURN = 128 * 1024;

export interface NewConnectionsOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn' | 'monotonicMs'>;
  /** Of each client network. */
  readonly maxWaiting: number;
  /** Addresses and CIDR blocks without a limit: proxies open connections for many clients. */
  readonly trustedProxies: readonly string[];
}

/**
 * Reads new connections one after the other, round robin over client networks, and all connections of a network that sends too much in one
 * turn of the event loop. Node reads and parses up to 64 KiB of a connection at once, which takes 20 to 40 ms if they are small chunks or
 * pipelined requests. The system hands over one connection in a turn, so others would wait for seconds behind those of a flood. While the
 * service is busy, new connections wait: otherwise the requests of a crowd would delay those of the connections that it has.
 */
export class NewConnections {
  readonly #options: NewConnectionsOptions;
  readonly #trusted = new BlockList();
  /** Empty unless a connection is being read, or networks pause. */
  readonly #waiting = new FairQueue<string, ClientConnection>();
  /** By client network, without those of trusted proxies. */
  readonly #open = new Map<string, Set<ClientConnection>>();
  /** Bytes by client network that were read in this turn. */
  readonly #bytes = new Map<string, number>();
  #turnStartMs = 0;
  /** Client networks of which no connection that waits is read now. */
  readonly #paused = new Set<string>();
  /** A connection is being read, or all networks pause after it. */
  #isReading = false;

  constructor(options: NewConnectionsOptions) {
    this.#options = options;
    for (const block of options.trustedProxies) {
      const [address = '', bits] = block.split('/');
      if (bits === undefined) this.#trusted.addAddress(address, familyOf(address));
      else this.#trusted.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  /** Holds a connection until it may be read. @returns false if too many of its network wait, and it is to be closed */
  admit(connection: ClientConnection): boolean {
    const { address, socket } = connection;
    const peer = socket.remoteAddress ?? '';
    if (this.#trusted.check(peer, familyOf(peer))) return true;
    if (this.#waiting.sizeOf(address) >= this.#options.maxWaiting) return false;
    this.#add(connection);
    if (this.#isReading || this.#paused.has(address)) this.#hold(connection);
    else this.#read(connection);
    return true;
  }

  /**
   * Counts what was read of a connection since the last call. Beyond the bound of its network, all connections of the network wait; what the
   * system has received for them is not read in this turn.
   */
  countRead(connection: ClientConnection): void {
    const { clock } = this.#options;
    const { address } = connection;
    const bytes = connection.takeBytesRead();
    const connections = this.#open.get(address);
    if (bytes === 0 || connections === undefined) return;
    if (this.#bytes.size === 0) this.#beginTurn();
    const sum = (this.#bytes.get(address) ?? 0) + bytes;
    this.#bytes.set(address, sum);
    if (sum < MAX_BYTES_PER_TURN) return;
    for (const each of connections) this.#hold(each);
    if (this.#paused.has(address)) return;
    const startMs = this.#turnStartMs;
    this.#paused.add(address);
    clock.afterTurn(() => this.#pause(address, clock.monotonicMs() - startMs));
  }

  #beginTurn(): void {
    const { clock } = this.#options;
    this.#turnStartMs = clock.monotonicMs();
    clock.afterTurn(() => this.#bytes.clear());
  }

  #add(connection: ClientConnection): void {
    const { address, socket } = connection;
    const connections = this.#open.get(address) ?? new Set();
    this.#open.set(address, connections.add(connection));
    socket.once('close', () => {
      this.#waiting.delete(address, connection);
      connections.delete(connection);
      if (connections.size === 0) this.#open.delete(address);
    });
  }

  #hold(connection: ClientConnection): void {
    if (connection.isHeld) return;
    connection.hold();
    this.#waiting.push(connection.address, connection);
  }

  /** Reads a connection, and then the next one, at once or after the pause of all networks. */
  #read(connection: ClientConnection): void {
    const { clock } = this.#options;
    const { address, socket } = connection;
    const startMs = clock.monotonicMs();
    const startBytes = socket.bytesRead;
    this.#isReading = true;
    if (connection.isHeld) connection.release();
    // Its bytes are read between the first turn and the second.
    clock.afterTurn(() =>
      clock.afterTurn(() => {
        const tookMs = clock.monotonicMs() - startMs;
        const isShort = socket.bytesRead - startBytes <= SHORT_BYTES;
        if (isShort && tookMs >= BUSY_MS) {
          clock.after(pauseMs(tookMs, MAX_BUSY_PAUSE_MS), () => this.#readNext());
          return;
        }
        if (!isShort && !this.#paused.has(address)) this.#pause(address, tookMs);
        this.#readNext();
      }),
    );
  }

  #readNext(): void {
    this.#isReading = false;
    for (const [network, connections] of this.#waiting.entries()) {
      const [next] = connections;
      if (next === undefined || this.#paused.has(network)) continue;
      this.#waiting.serve(network, next);
      return this.#read(next);
    }
  }

  /** @param tookMs time that its last connections took */
  #pause(network: string, tookMs: number): void {
    this.#paused.add(network);
    this.#options.clock.after(pauseMs(tookMs, MAX_PAUSE_MS), () => {
      this.#paused.delete(network);
      if (!this.#isReading) this.#readNext();
    });
  }
}

function pauseMs(tookMs: number, maxMs: number): number {
  return Math.min(maxMs, PAUSE_FACTOR * tookMs);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
