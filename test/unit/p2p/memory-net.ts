import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import type { Connection, ConnectionEvents, Dial } from '../../../src/p2p/connection/dial.ts';
import type { Identity } from '../../../src/p2p/identity/identity.ts';
import type { Endpoint } from '../../../src/p2p/wire/ip-address.ts';

/** Behaviour of an address when it is dialled. */
export type Listener =
  | { readonly kind: 'accept'; readonly certificate: Uint8Array | undefined; accept(end: MemoryEnd): void }
  /** Drops packets like a firewall. */
  | { readonly kind: 'vanish' }
  /** Accepts TCP and sends nothing in TLS, like a frozen node. */
  | { readonly kind: 'frozen' };

/** One way. */
export const LATENCY_MS = 5;

/** Implementation of {@link Dial} in memory under the injected clock. Keys of certificates are not proved. */
export class MemoryNet {
  readonly #clock: Clock;
  readonly #listeners = new Map<string, Listener>();
  dialCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param listener undefined closes the port */
  listen({ host, port }: Endpoint, listener: Listener | undefined): void {
    if (listener === undefined) this.#listeners.delete(`${host}:${port}`);
    else this.#listeners.set(`${host}:${port}`, listener);
  }

  dialAs(identity: Identity): Dial {
    return ({ host, port }, events) => {
      this.dialCount += 1;
      const end = new MemoryEnd(this.#clock, events);
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

/** End of a connection. Bytes arrive at the other end after {@link LATENCY_MS}, in order, unless it has paused. */
export class MemoryEnd implements Connection {
  /** Certificate of the other end, only at the node's end. */
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

  /** Sets the events of the node's end. */
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

  /** Ends the connection from the other end or the net. */
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
