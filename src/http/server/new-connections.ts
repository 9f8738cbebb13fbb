import { BlockList, isIPv6 } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import type { ClientConnection } from './client-connection.ts';

/** The pause after a new connection was read, in multiples of the time that it took: new connections take a quarter of the thread at most. */
const PAUSE_FACTOR = 3;
/** What honest clients send first takes less, and the next connection follows without a pause. */
const SHORT_MS = 2;
const MAX_PAUSE_MS = 500;

export interface NewConnectionsOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn' | 'monotonicMs'>;
  /** Of each client network. */
  readonly maxWaiting: number;
  /** Addresses and CIDR blocks without a limit: proxies open connections for many clients. */
  readonly trustedProxies: readonly string[];
}

/**
 * Reads new connections one after the other, in turns over client networks. A new connection costs the service most by its first bytes: Node
 * reads and parses up to 64 KiB at once, which takes 20 to 40 ms if they are small chunks or pipelined requests. Without a pause the system,
 * which hands over one connection in a turn of the event loop, would hand over those of a flood, and others would wait for seconds.
 */
export class NewConnections {
  readonly #options: NewConnectionsOptions;
  readonly #trusted = new BlockList();
  /** Empty unless one is being read, or its pause lasts. */
  readonly #waiting = new FairQueue<string, ClientConnection>();
  #isBusy = false;

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
    if (!this.#isBusy) {
      this.#awaitNext();
      return true;
    }
    if (this.#waiting.sizeOf(address) >= this.#options.maxWaiting) return false;
    connection.hold();
    this.#waiting.push(address, connection);
    socket.once('close', () => this.#waiting.delete(address, connection));
    return true;
  }

  /** Waits until the connection that is read now has been parsed, and for the pause after it. */
  #awaitNext(): void {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    this.#isBusy = true;
    // Its bytes are read between the first turn and the second.
    clock.afterTurn(() =>
      clock.afterTurn(() => {
        const tookMs = clock.monotonicMs() - startMs;
        if (tookMs < SHORT_MS) this.#readNext();
        else clock.after(Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * tookMs), () => this.#readNext());
      }),
    );
  }

  #readNext(): void {
    this.#isBusy = false;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#awaitNext();
    next.release();
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
