import type { Clock } from '../../src/lib/concurrency/clock.ts';
import type { Connection, ConnectionEvents, Dial, TcpFailure } from '../../src/p2p/connection/dial.ts';
import type { Endpoint } from '../../src/p2p/wire/ip-address.ts';
import type { Draws } from './draws.ts';

/** What an address does when it is dialled. */
export interface Listener {
  answer(): 'refuse' | 'vanish' | 'freeze' | 'accept';
  /** What is shown in TLS. */
  readonly certificate: Uint8Array | undefined;
  accept(end: SimulatedEnd): void;
}

export interface NetFaults {
  /** One way, in milliseconds; each chunk draws its own, but chunks of one connection stay in order. */
  readonly latencyMs: readonly [number, number];
  /** That a chunk is held up for a second or more, and all behind it. */
  readonly stall: number;
  /** That a connection is cut while a chunk is on its way. */
  readonly cut: number;
  /** That a chunk arrives in pieces. */
  readonly split: number;
}

/** Longest stall of a chunk. */
export const MAX_STALL_MS = 5_000;

/** Addresses and the connections between them: what {@link Dial} does over sockets, under virtual time, with faults. */
export class SimulatedNet {
  readonly clock: Clock;
  readonly draws: Draws;
  readonly #listeners = new Map<string, Listener>();
  /** Ends of dialled connections that have not been closed. */
  readonly open = new Set<SimulatedEnd>();
  faults: NetFaults;
  dials = 0;

  constructor(clock: Clock, draws: Draws, faults: NetFaults) {
    this.clock = clock;
    this.draws = draws;
    this.faults = faults;
  }

  listen({ host, port }: Endpoint, listener: Listener | undefined): void {
    if (listener === undefined) this.#listeners.delete(`${host}:${port}`);
    else this.#listeners.set(`${host}:${port}`, listener);
  }

  readonly dial: Dial = ({ host, port }, events) => {
    this.dials += 1;
    const end = new SimulatedEnd(this, events);
    this.open.add(end);
    this.clock.after(2 * this.latencyMs(), () => {
      if (end.isOver) return;
      const listener = this.#listeners.get(`${host}:${port}`);
      const answer = listener?.answer() ?? 'refuse';
      if (listener === undefined || answer === 'refuse') end.finish('connection refused', 'tcp_refused');
      if (listener === undefined || answer === 'refuse' || answer === 'vanish') return;
      events.onConnect();
      if (answer === 'freeze') return;
      this.clock.after(2 * this.latencyMs(), () => {
        if (end.isOver) return;
        const other = new SimulatedEnd(this, undefined);
        SimulatedEnd.join(end, other);
        events.onSecure(listener.certificate);
        listener.accept(other);
      });
    });
    return end;
  };

  heal(): void {
    this.faults = { latencyMs: [1, 20], stall: 0, cut: 0, split: 0 };
  }

  latencyMs(): number {
    const [min, max] = this.faults.latencyMs;
    return min + this.draws.next() * (max - min);
  }
}

/** One end of a connection. */
export class SimulatedEnd implements Connection {
  queuedBytes = 0;
  isOver = false;
  readonly #net: SimulatedNet;
  #events: Pick<ConnectionEvents, 'onData' | 'onEnd'> | undefined;
  #other: SimulatedEnd | undefined;
  #isPaused = false;
  readonly #held: Uint8Array[] = [];
  /** When the last chunk sent arrives: the next one does not overtake it. */
  #arrivesMs = 0;

  constructor(net: SimulatedNet, events: ConnectionEvents | undefined) {
    this.#net = net;
    this.#events = events;
  }

  static join(first: SimulatedEnd, second: SimulatedEnd): void {
    first.#other = second;
    second.#other = first;
  }

  /** For the node's end, which has no dial to give them to. */
  listen(events: Pick<ConnectionEvents, 'onData' | 'onEnd'>): void {
    this.#events = events;
  }

  write(bytes: Uint8Array): void {
    const { draws, faults } = this.#net;
    if (this.isOver || this.#other === undefined || bytes.length === 0) return;
    if (faults.cut > 0 && draws.chance(faults.cut)) this.#net.clock.after(this.#net.latencyMs(), () => this.cut());
    if (bytes.length > 1 && faults.split > 0 && draws.chance(faults.split)) {
      const at = draws.int(1, bytes.length - 1);
      this.#send(bytes.slice(0, at));
      this.#send(bytes.slice(at));
    } else {
      this.#send(bytes.slice());
    }
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#net.clock.after(0, () => {
      while (!this.#isPaused && !this.isOver) {
        const chunk = this.#held.shift();
        if (chunk === undefined) return;
        this.#deliver(chunk);
      }
    });
  }

  close(): void {
    if (this.isOver) return;
    this.#end();
    // What was sent before arrives before the end does.
    this.#later(() => this.#other?.finish(undefined));
  }

  /** The network ends it, for both. */
  cut(): void {
    this.#other?.finish('connection reset');
    this.finish('connection reset');
  }

  /** Its process is no more, and hears nothing of it; the other end does. */
  abandon(): void {
    if (this.isOver) return;
    this.#end();
    this.#later(() => this.#other?.finish('connection reset'));
  }

  finish(reason: string | undefined, cause?: TcpFailure): void {
    if (this.isOver) return;
    this.#end();
    this.#events?.onEnd(reason, cause);
  }

  #end(): void {
    this.isOver = true;
    this.#net.open.delete(this);
  }

  #send(chunk: Uint8Array): void {
    this.queuedBytes += chunk.length;
    this.#later(() => this.#other?.arrive(chunk));
  }

  #later(callback: () => void): void {
    const { clock, draws, faults } = this.#net;
    const stallMs = faults.stall > 0 && draws.chance(faults.stall) ? draws.int(500, MAX_STALL_MS) : 0;
    const nowMs = clock.monotonicMs();
    this.#arrivesMs = Math.max(this.#arrivesMs, nowMs + this.#net.latencyMs() + stallMs);
    clock.after(this.#arrivesMs - nowMs, callback);
  }

  arrive(chunk: Uint8Array): void {
    if (this.isOver) return;
    if (this.#isPaused || this.#held.length > 0) this.#held.push(chunk);
    else this.#deliver(chunk);
  }

  #deliver(chunk: Uint8Array): void {
    if (this.#other !== undefined) this.#other.queuedBytes -= chunk.length;
    this.#events?.onData(chunk);
  }
}
