import { watchChain } from '../../../src/feed/chain-watcher.ts';
import { endOfBlock } from '../../../src/feed/feed-message.ts';
import { type MessageStore, openMessageStore } from '../../../src/feed/message-store.ts';
import type { WebSocketConnection } from '../../../src/lib/net/http-port.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { CHAIN } from './emitted.ts';
import { SimulatedChain } from './simulated-chain.ts';

type Listener = (event: { readonly data: unknown }) => void;

/** A web socket of the simulated node. */
class SimulatedSocket implements WebSocketConnection {
  readonly #listeners = new Map<string, Listener[]>();
  isOpen = true;

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  emit(type: string, data?: unknown): void {
    for (const listener of this.#listeners.get(type) ?? []) listener({ data });
  }

  send(): void {
    this.emit('message', JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' }));
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.emit('close');
  }
}

/** A simulated chain, the store, and a watcher that can crash and start again. */
export function createWatchedChain({ hasSocket = false }: { readonly hasSocket?: boolean } = {}) {
  const clock = new FakeClock();
  const chain = new SimulatedChain(clock);
  const store = openMessageStore({ directory: undefined, networkID: 1 });
  const log = createLogLines();
  const sockets: SimulatedSocket[] = [];
  let watcher: ReturnType<typeof watchChain> | undefined;
  /** Of the last start: a crashed process writes no more. */
  let alive = { isAlive: true };

  function storeOf(process: { readonly isAlive: boolean }): MessageStore {
    return {
      ...store,
      append(chainID, batch) {
        if (process.isAlive) store.append(chainID, batch);
      },
    };
  }

  function start(fromBlock?: number): void {
    alive = { isAlive: true };
    watcher = watchChain({
      settings: { blockchainId: 'C', fromBlock, webSocket: hasSocket ? 'ws://node' : undefined },
      identify: async () => CHAIN,
      openSource: () => chain,
      store: storeOf(alive),
      clock,
      random: () => 0.5,
      logger: log.logger,
      timeoutMs: 10_000,
      openSocket() {
        const socket = new SimulatedSocket();
        sockets.push(socket);
        clock.after(10, () => socket.isOpen && socket.emit('open'));
        return socket;
      },
    });
  }

  return {
    clock,
    chain,
    store,
    sockets,
    start,
    status: () => watcher?.reader?.status(),
    /** Ends the process without letting it finish anything. */
    crash(): void {
      alive.isAlive = false;
      void watcher?.stop();
    },
    async stop(): Promise<void> {
      await watcher?.stop();
      store[Symbol.dispose]();
    },
    /** Reports a head on all connections. */
    reportHead(): void {
      for (const socket of sockets) {
        if (socket.isOpen) socket.emit('message', JSON.stringify({ method: 'eth_subscription', params: {} }));
      }
    },
    watermark: () => store.chain(CHAIN)?.checkpoint.blockNumber,
    /** Stored messages as `block.log`, in the order of the feed. */
    stored: () =>
      store
        .page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 100_000 })
        .map(({ blockNumber, logIndex }) => `${blockNumber}.${logIndex}`),
    /** Emitted messages in the same form. */
    emitted: () => chain.messages.map(({ blockNumber, logIndex }) => `${blockNumber}.${logIndex}`),
  };
}
