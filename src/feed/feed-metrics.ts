import { DURATION_BUCKETS_SECONDS, type Metrics } from '../telemetry/metrics.ts';
import type { BlockchainID } from '../warp/ids.ts';
import type { WatchedChain } from './feed-message.ts';

export interface FeedState {
  readonly chains: readonly WatchedChain[];
  /** Time since the execution of the oldest message that is not signed; 0 if all are. */
  readonly oldestUnsignedSeconds: number;
  readonly messages: number;
}

export type FeedMetrics = ReturnType<typeof createFeedMetrics>;

/** @param read called when the metrics are rendered */
export function createFeedMetrics(metrics: Metrics, read: () => FeedState) {
  const labels = ['source_chain'] as const;
  const ofChains = (name: string, help: string, value: (chain: WatchedChain) => number): void =>
    metrics.readGauge<'source_chain'>({ name, help, labels }, () =>
      read().chains.map((chain) => ({ labels: { source_chain: chain.chainID }, value: value(chain) })),
    );
  ofChains(
    'feed_head_distance_blocks',
    'Blocks of a watched chain that are not read yet, by source chain',
    ({ distanceBlocks }) => distanceBlocks,
  );
  ofChains(
    'feed_head_distance_seconds',
    'Age of the last block that was read of a watched chain, 0 at its head, by source chain',
    ({ distanceSeconds }) => distanceSeconds,
  );
  ofChains(
    'feed_unconfirmed_seconds',
    'Time for which blocks of a watched chain wait for their second reading, which takes some minutes, by source chain',
    ({ unconfirmedSeconds }) => unconfirmedSeconds,
  );
  metrics.readGauge<'source_chain' | 'reason'>(
    {
      name: 'feed_chain_stopped',
      help: 'Whether a watched chain cannot be read on: 1 with the reason, or 0 with an empty one, by source chain',
      labels: ['source_chain', 'reason'],
    },
    () =>
      read().chains.map(({ chainID, problemKind }) => ({
        labels: { source_chain: chainID, reason: problemKind ?? '' },
        value: Number(problemKind !== undefined),
      })),
  );
  metrics.readGauge(
    {
      name: 'feed_oldest_unsigned_seconds',
      help: 'Time since the execution of the oldest stored message that is not signed, 0 if all are',
    },
    () => read().oldestUnsignedSeconds,
  );
  metrics.readGauge({ name: 'feed_messages_stored', help: 'Stored messages of watched chains' }, () => read().messages);
  const messages = metrics.counter<'source_chain' | 'outcome'>({
    name: 'feed_messages_total',
    help: 'Messages of watched chains by source chain and outcome: found (stored to be signed), missed (found by the second reading alone), signed, failed (each attempt)',
    labels: ['source_chain', 'outcome'],
  });
  const signing = metrics.histogram({
    name: 'feed_signing_duration_seconds',
    help: 'Time from the execution of a message, as the feed saw it, to its signature',
    buckets: DURATION_BUCKETS_SECONDS,
  });
  return {
    countFound: (chainID: BlockchainID, count: number): void =>
      messages.inc({ source_chain: chainID, outcome: 'found' }, count),
    countMissed: (chainID: BlockchainID, count: number): void =>
      messages.inc({ source_chain: chainID, outcome: 'missed' }, count),
    countFailed: (chainID: BlockchainID): void => messages.inc({ source_chain: chainID, outcome: 'failed' }),
    countSigned(chainID: BlockchainID, seconds: number): void {
      messages.inc({ source_chain: chainID, outcome: 'signed' });
      signing.observe(seconds);
    },
  };
}
