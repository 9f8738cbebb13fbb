import { AggregatorError } from '../aggregation/aggregator-error.ts';
import type { Aggregator } from '../aggregation/stages/aggregator.ts';
import { type Clock, nextTurn, type Random, repeat } from '../lib/concurrency/clock.ts';
import { once } from '../lib/concurrency/once.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
import { StoreError } from '../store/local/sqlite.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BlockchainID } from '../warp/ids.ts';
import { type ChainSettings, type ChainWatcher, type WatcherOptions, watchChain } from './chains/chain-watcher.ts';
import type { MessageReader, WatchedChain } from './feed-message.ts';
import { createFeedMetrics, type FeedMetrics } from './feed-metrics.ts';
import { startMessageSigner } from './message-signer.ts';
import { type MessageStore, PRUNE_LIMIT } from './message-store.ts';

/** The feed of a network: it watches chains, and signs and stores their messages. */
export interface Feed {
  /** Stored messages; undefined while the network watches no chain and has no messages of earlier ones, or while the store cannot be opened. */
  readonly messages: MessageReader | undefined;
  /** Why the store cannot be opened or written, for operators: the feed is stopped, and tries again. */
  readonly storeProblem: string | undefined;
  /**
   * Whether chains of the configuration are not in the store yet: a reader would miss them. It ends after {@link MAX_START_MS}, because one RPC that
   * is down must not keep readers from other chains.
   */
  readonly isStarting: boolean;
  /** Returns the ID of the C-Chain; undefined while it is not known. */
  findCChain(signal: AbortSignal): Promise<BlockchainID | undefined>;
  /** Whether a chain of the settings has this ID or name, also if nothing of it was read yet. */
  watches(chain: string): boolean;
  /** The watched chains, without those whose IDs are not known yet. */
  chains(): readonly WatchedChain[];
  /**
   * Removes the position and the messages of a chain, which is then read from its first block if it is watched: such as a private chain that was
   * begun anew.
   *
   * @throws {AggregatorError} `unknown_blockchain` for a chain that was never watched
   */
  forget(chainID: BlockchainID): Promise<ForgetResult>;
  /**
   * Reads a range of blocks of a watched chain again, the last one included, and stores messages that are missing.
   *
   * @throws {AggregatorError} `unknown_blockchain` for a chain that is not watched, `invalid_request` for a range that is empty, longer than
   *   {@link MAX_REPLAY_BLOCKS} or beyond the watermark, `overloaded` during another replay, `chain_rpc_unavailable` or `chain_rpc_invalid`
   */
  replay(chainID: BlockchainID, fromBlock: number, toBlock: number, signal: AbortSignal): Promise<ReplayResult>;
}

export interface ForgetResult {
  /** Messages that were removed. */
  readonly removed: number;
}

export interface ReplayResult {
  /** Messages of the range that the filters of the chain let pass. */
  readonly found: number;
  /** Those that were not stored before; they are signed from now on. */
  readonly added: number;
}

export const MAX_REPLAY_BLOCKS = 1_000;

export interface FeedSettings {
  readonly chains: readonly ChainSettings[];
  readonly retentionHours: number;
  readonly maxMessages: number;
}

export interface FeedOptions extends Omit<WatcherOptions, 'settings' | 'store' | 'onMissed'> {
  readonly settings: FeedSettings;
  /** Opens the store, whose file may have messages of chains that are no longer watched. @throws {StoreError} */
  readonly openStore: () => MessageStore;
  readonly hasStoredMessages: () => boolean;
  /** Limit of the stored messages' bytes. */
  readonly maxBytes: number;
  readonly aggregator: Aggregator;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface FeedService extends Feed, AsyncDisposable {
  /** Begins to watch added chains, and ends to watch removed and changed ones, which are then watched by their new settings. */
  update(settings: FeedSettings): void;
}

export const MAX_START_MS = 15_000;
/** A store that is gone, or whose disk is full, is noticed within this time. */
const PRUNE_INTERVAL_MS = 60_000;
/** Time until a store that could not be opened is tried again. */
const REOPEN_MS = 30_000;
const HOUR_MS = 3_600_000;

const NOT_READ = { headBlock: undefined, problem: undefined, problemKind: undefined };

/** What exists while the feed is on. */
interface Running extends AsyncDisposable {
  readonly store: MessageStore;
  readonly metrics: FeedMetrics;
}

/** Opens the feed; without chains and stored messages it has no store, no timer and no connection. */
export function openFeed(options: FeedOptions): FeedService {
  const { clock } = options;
  let { settings } = options;
  const watchers = new Map<string, ChainWatcher>();
  /** Keys of the watchers that read a chain. */
  const owners = new Map<BlockchainID, string>();
  /** Watchers of removed chains, until they have ended. */
  const ending = new Set<Promise<void>>();
  let running: Running | undefined;
  let isReplaying = false;
  let isStarting = true;
  let storeProblem: string | undefined;
  let cancelReopening = (): void => undefined;
  const startedMs = clock.monotonicMs();

  function start(): Running {
    const store = options.openStore();
    const stopping = new AbortController();
    const metrics = createFeedMetrics(options.metrics, () => {
      const { messages, oldestUnsignedMs } = store.counts();
      const unsignedMs = oldestUnsignedMs === undefined ? 0 : clock.now() - oldestUnsignedMs;
      return { chains: chains(), messages, oldestUnsignedSeconds: Math.max(0, unsignedMs) / 1_000 };
    });
    const signer = startMessageSigner({ ...options, store, metrics, quorumOf });
    const pruning = repeat(clock, stopping.signal, () => prune(store, stopping.signal));
    return {
      store,
      metrics,
      async [Symbol.asyncDispose]() {
        stopping.abort(new Error('the service stops'));
        await Promise.all([pruning, signer[Symbol.asyncDispose]()]);
        store[Symbol.dispose]();
      },
    };
  }

  const declareStoreMetric = once(() =>
    options.metrics.readGauge(
      {
        name: 'feed_store_failing',
        help: 'Whether the store of the messages of watched chains cannot be opened or written: 1 or 0',
      },
      () => Number(storeProblem !== undefined),
    ),
  );

  /** Returns undefined if the store cannot be opened: requests are signed meanwhile. */
  function tryStart(): Running | undefined {
    declareStoreMetric();
    try {
      const started = start();
      noteStore(undefined);
      return started;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      noteStore(error);
      cancelReopening();
      cancelReopening = clock.after(REOPEN_MS, () => update(settings));
      return undefined;
    }
  }

  function noteStore(error: StoreError | undefined): void {
    if (error?.message === storeProblem) return;
    storeProblem = error?.message;
    if (error === undefined) options.logger.info('the feed can write its store again');
    else options.logger.error({ err: error }, 'the feed is stopped, because it cannot write its store; trying again');
  }

  async function prune(store: MessageStore, signal: AbortSignal): Promise<number> {
    const { retentionHours, maxMessages } = settings;
    try {
      // A wrong clock alone removes nothing.
      const nowMs = Math.min(clock.now(), store.newestBlockMs() ?? Number.POSITIVE_INFINITY);
      const retention = { beforeMs: nowMs - retentionHours * HOUR_MS, maxMessages, maxBytes: options.maxBytes };
      while (store.prune(retention) === PRUNE_LIMIT && !signal.aborted) await nextTurn(clock);
      noteStore(undefined);
    } catch (error) {
      if (error instanceof StoreError) noteStore(error);
      else options.logger.error({ err: error }, 'a bug in removing old messages; trying again');
    }
    return PRUNE_INTERVAL_MS;
  }

  function update(next: FeedSettings): void {
    settings = next;
    const wanted = new Map(next.chains.map((chain) => [JSON.stringify(chain), chain]));
    for (const [key, watcher] of watchers) if (!wanted.has(key)) end(key, watcher);
    if (running === undefined && wanted.size === 0 && !options.hasStoredMessages()) return;
    running ??= tryStart();
    if (running === undefined) return;
    const { store, metrics } = running;
    for (const [key, chain] of wanted) {
      if (watchers.has(key)) continue;
      const before = Promise.all(ending);
      const identify: FeedOptions['identify'] = async (id, signal) => {
        await before;
        const chainID = await options.identify(id, signal);
        if (typeof chainID !== 'string') return chainID;
        // Two readers of one chain would contradict each other.
        const owner = owners.get(chainID) ?? key;
        if (owner !== key) return { problem: `chain ${chainID} is watched twice` };
        owners.set(chainID, key);
        return chainID;
      };
      const onMissed = (chainID: BlockchainID, count: number): void => {
        metrics.countFound(chainID, count);
        metrics.countMissed(chainID, count);
      };
      const countingStore: MessageStore = {
        ...store,
        append(chainID, batch) {
          store.append(chainID, batch);
          if (batch.messages.length > 0) metrics.countFound(chainID, batch.messages.length);
        },
      };
      watchers.set(key, watchChain({ ...options, settings: chain, store: countingStore, identify, onMissed }));
    }
  }

  function end(key: string, watcher: ChainWatcher): void {
    watchers.delete(key);
    const ended = watcher.stop().finally(() => {
      ending.delete(ended);
      for (const [chainID, owner] of owners) if (owner === key) owners.delete(chainID);
    });
    ending.add(ended);
  }

  function watcherOf(chainID: BlockchainID): ChainWatcher | undefined {
    return [...watchers.values()].find((watcher) => watcher.chainID === chainID);
  }

  function quorumOf(chainID: BlockchainID): bigint | undefined {
    const percentage = watcherOf(chainID)?.settings.quorumPercentage;
    return percentage === undefined ? undefined : BigInt(percentage);
  }

  function chains(): readonly WatchedChain[] {
    return [...watchers.values()].flatMap(({ chainID, reader, unconfirmedMs }) => {
      if (chainID === undefined) return [];
      const { headBlock, problem, problemKind } = reader?.status() ?? NOT_READ;
      const confirmedBlock = running?.store.confirmed(chainID)?.blockNumber;
      const unconfirmedSeconds = unconfirmedMs() / 1_000;
      const distance = distanceOf(chainID, headBlock);
      return [{ chainID, headBlock, confirmedBlock, ...distance, unconfirmedSeconds, problem, problemKind }];
    });
  }

  function distanceOf(chainID: BlockchainID, headBlock = 0) {
    const checkpoint = running?.store.checkpoint(chainID);
    const distanceBlocks = Math.max(0, headBlock - (checkpoint?.blockNumber ?? headBlock));
    const ageMs = distanceBlocks === 0 || checkpoint === undefined ? 0 : clock.now() - checkpoint.blockTimeMs;
    return { distanceBlocks, distanceSeconds: Math.max(0, ageMs) / 1_000 };
  }

  async function replay(chainID: BlockchainID, fromBlock: number, toBlock: number, signal: AbortSignal) {
    const reader = watcherOf(chainID)?.reader;
    const watermark = running?.store.checkpoint(chainID)?.blockNumber;
    if (running === undefined || reader === undefined || watermark === undefined) {
      throw new AggregatorError('unknown_blockchain', `the feed does not watch blockchain ${chainID}`);
    }
    requireRange(fromBlock, toBlock, watermark);
    if (isReplaying) throw new AggregatorError('overloaded', 'another range of blocks is being read again');
    isReplaying = true;
    try {
      const messages = await reader.readAgain(fromBlock, toBlock, signal);
      const added = running.store.insert(chainID, fromBlock, toBlock, messages);
      if (added > 0) running.metrics.countFound(chainID, added);
      return { found: messages.length, added };
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof ApiError)) throw cause;
      const code = cause.code === 'unavailable' ? 'chain_rpc_unavailable' : 'chain_rpc_invalid';
      throw new AggregatorError(code, `the RPC of blockchain ${chainID} failed: ${cause.message}`, { cause });
    } finally {
      isReplaying = false;
    }
  }

  async function forget(chainID: BlockchainID): Promise<ForgetResult> {
    if (running?.store.checkpoint(chainID) === undefined) {
      throw new AggregatorError('unknown_blockchain', `the feed has never watched blockchain ${chainID}`);
    }
    for (const [key, watcher] of watchers) if (watcher.chainID === chainID) end(key, watcher);
    await Promise.all(ending);
    const removed = running.store.forgetChain(chainID);
    options.logger.warn({ chainId: chainID, messages: removed }, 'the feed forgets a chain');
    update(settings);
    return { removed };
  }

  function knowsChains(): boolean {
    return [...watchers.values()].every(
      ({ chainID }) => chainID !== undefined && running?.store.checkpoint(chainID) !== undefined,
    );
  }

  update(settings);
  return {
    get isStarting() {
      isStarting &&= clock.monotonicMs() - startedMs < MAX_START_MS && !knowsChains();
      return isStarting;
    },
    get messages() {
      return running?.store;
    },
    get storeProblem() {
      return storeProblem;
    },
    async findCChain(signal) {
      const watched = [...watchers.values()].find((watcher) => watcher.settings.blockchainId === 'C')?.chainID;
      if (watched !== undefined) return watched;
      const found = await options.identify('C', signal).catch(() => undefined);
      return typeof found === 'string' ? found : undefined;
    },
    watches: (chain) =>
      [...watchers.values()].some((watcher) => watcher.chainID === chain || watcher.settings.blockchainId === chain),
    chains,
    forget,
    replay,
    update,
    async [Symbol.asyncDispose]() {
      cancelReopening();
      for (const [key, watcher] of watchers) end(key, watcher);
      await Promise.all(ending);
      await running?.[Symbol.asyncDispose]();
    },
  };
}

/** @throws {AggregatorError} */
function requireRange(fromBlock: number, toBlock: number, watermark: number): void {
  const invalid = (text: string) => new AggregatorError('invalid_request', text);
  if (fromBlock < 1 || toBlock < fromBlock)
    throw invalid('the range must begin at block 1 or later, and end at or after its begin');
  if (toBlock - fromBlock >= MAX_REPLAY_BLOCKS) throw invalid(`the range may have at most ${MAX_REPLAY_BLOCKS} blocks`);
  if (toBlock > watermark) throw invalid(`block ${toBlock} was not read yet; the last one is ${watermark}`);
}
