import { watchChain } from '../../../src/feed/chains/chain-watcher.ts';
import { endOfBlock } from '../../../src/feed/feed-message.ts';
import { openMessageStore } from '../../../src/feed/message-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { CHAIN } from './emitted.ts';
import { SimulatedChain } from './simulated-chain.ts';
import { SimulatedSocket } from './simulated-socket.ts';

/** A simulated chain, the store, and a watcher. */
export function createWatchedChain({
  hasSocket = false,
  identifyFailures = 0,
  nodes = 1,
  trouble,
}: {
  readonly hasSocket?: boolean;
  readonly identifyFailures?: number;
  /** Endpoints of the chain, at most two. */
  readonly nodes?: number;
  /** What befalls each web socket. */
  readonly trouble?: (socket: SimulatedSocket) => void;
} = {}) {
  const clock = new FakeClock();
  const chain = new SimulatedChain(clock);
  const store = openMessageStore({ directory: undefined, networkID: 1 });
  const log = createLogLines();
  const sockets: SimulatedSocket[] = [];
  let missed = 0;
  let refusesSockets = false;
  let failuresLeft = identifyFailures;
  let watcher: ReturnType<typeof watchChain> | undefined;

  function start(fromBlock?: number): void {
    watcher = watchChain({
      settings: { blockchainId: 'C', fromBlock, webSocket: hasSocket ? { baseUrl: 'ws://node' } : undefined },
      async identify() {
        failuresLeft -= 1;
        if (failuresLeft >= 0) throw new RangeError('an answer that the code did not foresee');
        return CHAIN;
      },
      openSources: () => Array.from({ length: nodes }, (_, index) => chain.node(clock, index)),
      onMissed: (_, count) => {
        missed += count;
      },
      store,
      clock,
      random: () => 0.5,
      logger: log.logger,
      openSocket() {
        const socket = new SimulatedSocket(clock);
        sockets.push(socket);
        trouble?.(socket);
        if (refusesSockets) clock.after(1, () => socket.close('the handshake was answered with HTTP status 401'));
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
    lines: () => log.records(),
    missed: () => missed,
    status: () => watcher?.reader?.status(),
    async restart(): Promise<void> {
      await watcher?.stop();
      start(1);
    },
    async stop(): Promise<void> {
      await watcher?.stop();
      store[Symbol.dispose]();
    },
    /** Ends web sockets before they open, from now on. */
    refuseSockets: () => {
      refusesSockets = true;
    },
    /** Reports a head on all connections. */
    reportHead(): void {
      for (const socket of sockets) socket.reportHead(chain.height);
    },
    watermark: () => store.checkpoint(CHAIN)?.blockNumber,
    /** Stored messages as `block.log`, in the order of the feed. */
    stored: () =>
      store
        .page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 100_000 })
        .map(({ blockNumber, logIndex }) => `${blockNumber}.${logIndex}`),
    messages: () => store.page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 100_000 }),
    storedHashes: () =>
      store.page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 100_000 }).map(({ blockHash }) => blockHash),
    /** Emitted messages in the same form. */
    emitted: () => chain.messages.map(({ blockNumber, logIndex }) => `${blockNumber}.${logIndex}`),
  };
}
