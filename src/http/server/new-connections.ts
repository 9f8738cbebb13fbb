import { BlockList, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { TokenBucket } from '../../lib/concurrency/token-bucket.ts';
import type { ClientConnection } from './client-connection.ts';

/** New connections that are read in one turn of the event loop, over all addresses. */
const READ_PER_TURN = 1;
/** Bound of the connections of an address that wait, as seconds of its rate. */
const MAX_WAIT_SECONDS = 5;
/** Addresses whose new connections are counted; the least recent ones are forgotten, and begin anew. */
const MAX_ADDRESSES = 10_000;

export interface NewConnectionsOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn' | 'monotonicMs'>;
  /** Of each client network; as many are read without a wait if it opened none for a second. */
  readonly perSecond: number;
  /** Addresses and CIDR blocks without a limit: proxies open connections for many clients. */
  readonly trustedProxies: readonly string[];
}

/**
 * Reads new connections one after the other, in turns over client networks, and limits those of each network. A new connection costs the
 * service most by its first bytes: Node reads and parses up to 64 KiB at once, which takes 20 to 40 ms if they are small chunks or pipelined
 * requests.
 */
export class NewConnections {
  readonly #options: NewConnectionsOptions;
  readonly #trusted = new BlockList();
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: MAX_ADDRESSES });
  readonly #turns: EventLoopScheduler;
  readonly #waiting = new Map<string, ClientConnection[]>();

  constructor(options: NewConnectionsOptions) {
    this.#options = options;
    this.#turns = new EventLoopScheduler(options.clock, READ_PER_TURN);
    for (const block of options.trustedProxies) {
      const [address = '', bits] = block.split('/');
      if (bits === undefined) this.#trusted.addAddress(address, familyOf(address));
      else this.#trusted.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  /** Holds a connection until it may be read. @returns false if too many of its network wait, and it is to be closed */
  admit(connection: ClientConnection): boolean {
    const { address, socket } = connection;
    const { perSecond } = this.#options;
    const peer = socket.remoteAddress ?? '';
    if (this.#trusted.check(peer, familyOf(peer))) return true;
    const waiting = this.#waiting.get(address);
    if (waiting === undefined && this.#take(address, 1)) {
      if (this.#turns.tryStart()) return true;
      connection.hold();
      this.#turns.runLater(address, () => connection.release());
      return true;
    }
    if (waiting !== undefined && waiting.length >= MAX_WAIT_SECONDS * perSecond) return false;
    connection.hold();
    if (waiting !== undefined) {
      waiting.push(connection);
    } else {
      this.#waiting.set(address, [connection]);
      this.#awaitNext(address);
    }
    return true;
  }

  /** Takes one of those that need not wait, of which there are at least `least`. */
  #take(address: string, least: number): boolean {
    const { clock, perSecond } = this.#options;
    const nowMs = clock.monotonicMs();
    const bucket = this.#buckets.get(address) ?? new TokenBucket({ capacity: perSecond, perSecond }, nowMs);
    if (bucket.left(nowMs) < least) return false;
    bucket.spend(1);
    this.#buckets.set(address, bucket);
    return true;
  }

  /** The time runs from the last one that was released: an event loop that is late does not release all that are due. */
  #awaitNext(address: string): void {
    const { clock, perSecond } = this.#options;
    clock.after(1_000 / perSecond, () => {
      const waiting = this.#waiting.get(address) ?? [];
      let next = waiting.shift();
      while (next?.socket.destroyed) next = waiting.shift();
      if (next !== undefined) {
        this.#take(address, 0);
        const connection = next;
        this.#turns.runLater(address, () => connection.release());
      }
      if (waiting.length > 0) this.#awaitNext(address);
      else this.#waiting.delete(address);
    });
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
