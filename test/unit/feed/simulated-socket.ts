import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import type { WebSocketConnection } from '../../../src/lib/net/web-socket.ts';

type Listener = (event: { readonly data?: unknown; readonly reason?: string }) => void;

const CONNECT_MS = 10;

/** A web socket of the simulated node. */
export class SimulatedSocket implements WebSocketConnection {
  readonly #listeners = new Map<string, Listener[]>();
  isOpen = true;
  /** The node confirms the subscription, answers pings, and reports no head. */
  isSilent = false;
  /** Nothing comes from the peer any more, and nothing shows it. */
  isHalfOpen = false;

  /** @param clock of the process that opens it */
  constructor(clock: Clock) {
    clock.after(CONNECT_MS, () => this.isOpen && this.#emit('open'));
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  reportHead(number: number): void {
    if (!this.isOpen || this.isHalfOpen || this.isSilent) return;
    const params = { subscription: '0x1', result: { number: `0x${number.toString(16)}` } };
    this.#emit('message', JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
  }

  send(): void {
    this.#emit('message', JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' }));
  }

  ping(): void {
    if (!this.isHalfOpen) this.#emit('pong');
  }

  close(reason?: string): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#emit('close', undefined, reason);
  }

  #emit(type: string, data?: unknown, reason?: string): void {
    for (const listener of this.#listeners.get(type) ?? []) listener({ data, ...(reason !== undefined && { reason }) });
  }
}
