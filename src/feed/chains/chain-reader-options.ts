import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import type { BlockSource } from '../blocks/block-source.ts';
import type { EmittedMessage } from '../feed-message.ts';
import type { MessageStore } from '../message-store.ts';
import type { ReadingLog } from './reading-log.ts';

export interface ChainReaderOptions {
  readonly chainID: BlockchainID;
  /** The endpoints in the order of preference, at least one. */
  readonly sources: readonly BlockSource[];
  readonly store: Pick<MessageStore, 'checkpoint' | 'confirmed' | 'addChain' | 'moveChain' | 'append'>;
  /** What was read is noted there for the second reading. */
  readonly log: ReadingLog;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** First block to read if the chain was never watched, or was read up to an earlier block; undefined: the head. */
  readonly fromBlock: number | undefined;
  /** Whether a message is wanted. */
  readonly accepts: (message: Pick<EmittedMessage, 'sender' | 'destinationChainID'>) => boolean;
}
