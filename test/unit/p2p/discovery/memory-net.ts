import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import type { Connection, ConnectionEvents, Dial } from '../../../../src/p2p/connection/dial.ts';
import type { Endpoint } from '../../../../src/p2p/discovery/address-book.ts';
import type { Identity } from '../../../../src/p2p/identity/identity.ts';

/** What an address does when somebody dials it. */
export type Listener =
  | { readonly kind: 'accept'; readonly certificate: Uint8Array | undefined; accept(end: MemoryEnd): void }
  /** Lets packets vanish, as a firewall does. */
  | { readonly kind: 'vanish' }
  /** Takes the connection and says nothing in TLS, as a frozen node does. */
  | { readonly kind: 'frozen' };

/** One way through the net. Only the clock moves it. */
export const LATENCY_MS = 5;

/**
 * A network of addresses in memory: what {@link Dial} does over sockets, under the injected clock alone. Certificates are
 * shown as they are, since both ends are ours.
 */
export class MemoryNet {
  readonly #clock: Clock;
  readonly #listeners = new Map<string, Listener>();
  dialCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces what was there; undefined leaves nobody there. */
  listen({ host, port }: Endpoint, listener: Listener | undefined): void {
    if (listener === undefined) this.#listeners.delete(`${host}:${port}`);
    else this.#listeners.set(`${host}:${port}`, listener);
  }

  dialAs(identity: Identity): Dial {
    return ({ host, port }, events) => {
      this.dialCount += 1;
      const end = new MemoryEnd(this.#clock, events);
      // To the node and back: something answers there, or nothing does.
      this.#clock.after(2 * LATENCY_MS, () => {
        if (end.isOver) return;
        const listener = this.#listeners.get(`${host}:${port}`);
        if (listener === undefined) end.finish('connection refused');
        if (listener === undefined || listener.kind === 'vanish') return;
        events.onConnect();
        if (listener.kind === 'frozen') return;
        this.#clock.after(2 * LATENCY_MS, () => {
          if (end.isOver) return;
          const other = new MemoryEnd(this.#clock, undefined, identity.certificate.der);
          MemoryEnd.join(end, other);
          events.onSecure(listener.certificate);
          listener.accept(other);
        });
      });
      return end;
    };
  }
}

/** One end. What is written arrives at the other one after {@link LATENCY_MS}, in order, unless that one has paused. */
export class MemoryEnd implements Connection {
  /** What the other end has shown, at the node's end only. The dialling end gets it by its event. */
  readonly certificate: Uint8Array | undefined;
  queuedBytes = 0;
  isOver = false;
  readonly #clock: Clock;
  #events: Pick<ConnectionEvents, 'onData' | 'onEnd'> | undefined;
  #other: MemoryEnd | undefined;
  #isPaused = false;
  #held: Uint8Array[] = [];

  constructor(clock: Clock, events: ConnectionEvents | undefined, certificate?: Uint8Array) {
    this.#clock = clock;
    this.#events = events;
    this.certificate = certificate;
  }

  static join(first: MemoryEnd, second: MemoryEnd): void {
    first.#other = second;
    second.#other = first;
  }

  /** For the node's end, which has no dial to give them to. */
  listen(events: Pick<ConnectionEvents, 'onData' | 'onEnd'>): void {
    this.#events = events;
  }

  write(bytes: Uint8Array): void {
    const other = this.#other;
    if (this.isOver || other === undefined) return;
    this.queuedBytes += bytes.length;
    const copy = bytes.slice();
    this.#clock.after(LATENCY_MS, () => other.#arrive(copy));
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#clock.after(0, () => {
      while (!this.#isPaused && !this.isOver) {
        const chunk = this.#held.shift();
        if (chunk === undefined) return;
        this.#deliver(chunk);
      }
    });
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#clock.after(LATENCY_MS, () => this.#other?.finish(undefined));
  }

  /** The end comes from outside: from the other side or the net. */
  finish(reason: string | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#events?.onEnd(reason);
  }

  #arrive(chunk: Uint8Array): void {
    if (this.isOver) return;
    if (this.#isPaused || this.#held.length > 0) this.#held.push(chunk);
    else this.#deliver(chunk);
  }

  #deliver(chunk: Uint8Array): void {
    if (this.#other !== undefined) this.#other.queuedBytes -= chunk.length;
    this.#events?.onData(chunk);
  }
}
