import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { type Clock, type Random, repeat, sleep } from '../../lib/concurrency/clock.ts';
import { createWakeUp } from '../../lib/concurrency/wake-up.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import type { OpenWebSocket } from '../../lib/net/web-socket.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { EvmChainID } from '../../pchain/rpc/evm-api.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import type { BlockSource } from '../blocks/block-source.ts';
import type { EmittedMessage } from '../feed-message.ts';
import { isWanted, type MessageFilter } from '../message-filter.ts';
import type { MessageStore } from '../message-store.ts';
import { type ChainReader, createChainReader } from './chain-reader.ts';
import { openHeadSocket } from './head-socket.ts';
import { createReadingLog } from './reading-log.ts';
import { createSecondReading } from './second-reading.ts';

/** Settings of a watched chain. */
export interface ChainSettings {
  readonly blockchainId: EvmChainID;
  /** The endpoints of its RPC in the order of preference. */
  readonly endpoints?: readonly ApiEndpoint[] | undefined;
  /** The web socket of its RPC, which reports heads earlier than polling finds them. */
  readonly webSocket?: ApiEndpoint | undefined;
  /** Addresses in lower case. */
  readonly senders?: readonly string[] | undefined;
  readonly destinationBlockchainIds?: readonly BlockchainID[] | undefined;
  readonly quorumPercentage?: number | undefined;
  readonly fromBlock?: number | undefined;
}

export interface WatcherOptions {
  readonly settings: ChainSettings;
  /**
   * Finds the ID of the chain, and begins to track its subnet. Rejects with {@link ApiError}; a text is the reason why the chain cannot be
   * watched.
   */
  readonly identify: (chain: EvmChainID, signal: AbortSignal) => Promise<BlockchainID | { readonly problem: string }>;
  /** Opens the endpoints of a chain, in the order of preference. `owner` closes them. */
  readonly openSources: (
    owner: AsyncDisposableStack,
    settings: ChainSettings,
    chainID: BlockchainID,
  ) => readonly BlockSource[];
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly openSocket: OpenWebSocket;
  /** Called with the number of messages that only a second reading has found. */
  readonly onMissed: (chainID: BlockchainID, count: number) => void;
}

export interface ChainWatcher {
  readonly settings: ChainSettings;
  /** Undefined until the chain is identified. */
  readonly chainID: BlockchainID | undefined;
  readonly reader: ChainReader | undefined;
  /** Time since the oldest block was read that no second reading has confirmed; 0 if there is none. */
  readonly unconfirmedMs: () => number;
  /** Resolves when nothing more is written. */
  stop(): Promise<void>;
}

/** Also with a web socket, which may fall silent at any time. */
const POLL_MS = 500;
const IDENTIFY_PAUSES = { baseMs: 1_000, maxMs: 30_000 };

/** Reads a chain whenever its head moves, until it is stopped. */
export function watchChain(options: WatcherOptions): ChainWatcher {
  const { settings, store, clock, random, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const wakeUp = createWakeUp(clock);
  const filter = filterOf(settings);
  let chainID: BlockchainID | undefined;
  let reader: ChainReader | undefined;
  const log = createReadingLog(clock);
  /** Whether the socket has reported something since the last reading began. */
  let isReported = false;

  async function identify(): Promise<BlockchainID> {
    for (let failures = 1; ; failures += 1) {
      let reason: unknown;
      try {
        const found = await options.identify(settings.blockchainId, signal);
        if (typeof found === 'string') return found;
        reason = found.problem;
      } catch (error) {
        signal.throwIfAborted();
        reason = error;
      }
      if (failures === 1) {
        const level = reason instanceof ApiError || typeof reason === 'string' ? 'warn' : 'error';
        logger[level]({ chain: settings.blockchainId, err: reason }, 'the feed cannot watch a chain yet; trying again');
      }
      await sleep(clock, backoffMs(failures, IDENTIFY_PAUSES), signal);
    }
  }

  async function run(): Promise<void> {
    chainID = await identify();
    const id = chainID;
    await using sources = new AsyncDisposableStack();
    const reading = {
      chainID,
      sources: options.openSources(sources, settings, chainID),
      store,
      log,
      clock,
      logger,
      fromBlock: settings.fromBlock,
      accepts: (message: Pick<EmittedMessage, 'sender' | 'destinationChainID'>) => isWanted(filter, message),
    };
    const own = createChainReader(reading);
    reader = own;
    const again = createSecondReading({ ...reading, onMissed: (count) => options.onMissed(id, count) });
    const ending = new AbortController();
    const confirming = repeat(clock, ending.signal, async () => {
      // An abort ends the loop.
      return await again.read(ending.signal).catch(() => 0);
    });
    await using _ = {
      async [Symbol.asyncDispose]() {
        ending.abort(new Error('the chain is no longer watched'));
        await confirming;
      },
    };
    await using socket = openSocket();
    while (!signal.aborted) {
      const before = own.status().headBlock;
      const isPolled = !isReported;
      isReported = false;
      const pauseMs = await own.read(POLL_MS, signal);
      if (isPolled && before !== undefined && own.status().headBlock !== before) socket?.noteMissedHead();
      if (pauseMs > 0) await wakeUp.next(clock.monotonicMs() + pauseMs);
    }
  }

  function openSocket() {
    const { webSocket: endpoint } = settings;
    if (endpoint === undefined) return undefined;
    const onHead = (): void => {
      isReported = true;
      wakeUp.wake();
    };
    return openHeadSocket({ endpoint, openSocket: options.openSocket, clock, random, logger, onHead });
  }

  /** A bug in the watching of one chain ends neither the process nor another chain. */
  async function runUntilStopped(): Promise<void> {
    while (!signal.aborted) {
      try {
        await run();
      } catch (error) {
        if (signal.aborted) return;
        logger.error({ chain: settings.blockchainId, err: error }, 'a bug in watching a chain; trying again');
        await sleep(clock, IDENTIFY_PAUSES.maxMs, signal).catch(() => undefined);
      }
    }
  }

  const working = runUntilStopped();
  return {
    settings,
    get chainID() {
      return chainID;
    },
    get reader() {
      return reader;
    },
    unconfirmedMs: log.ageMs,
    async stop() {
      stopping.abort(new Error('the chain is no longer watched'));
      wakeUp.wake();
      await working;
    },
  };
}

function filterOf({ senders, destinationBlockchainIds }: ChainSettings): MessageFilter {
  return {
    senders: senders && new Set(senders),
    destinationChainIDs: destinationBlockchainIds && new Set(destinationBlockchainIds),
  };
}
