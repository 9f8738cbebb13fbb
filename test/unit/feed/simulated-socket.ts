import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import type { WebSocketConnection } from '../../../src/lib/net/http-port.ts';

type Listener = (event: { readonly data: unknown }) => void;

const CONNECT_MS = 10;

/** A web socket of the simulated node. */
export class SimulatedSocket implements WebSocketConnection {
  readonly #listeners = new Map<string, Listener[]>();
  isOpen = true;

  /** @param clock of the process that opens it */
  constructor(clock: Clock) {
    clock.after(CONNECT_MS, () => this.isOpen && this.#emit('open'));
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  reportHead(number: number): void {
    if (!this.isOpen) return;
    const params = { subscription: '0x1', result: { number: `0x${number.toString(16)}` } };
    this.#emit('message', JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
  }

  send(): void {
    this.#emit('message', JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' }));
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#emit('close');
  }

  #emit(type: string, data?: unknown): void {
    for (const listener of this.#listeners.get(type) ?? []) listener({ data });
  }
}
