import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { DatabaseSchema } from '../store/local/sqlite.ts';
import { type BlockchainID, idBytes, type SubnetID } from '../warp/ids.ts';
import { parseUnsignedMessage } from '../warp/unsigned-message.ts';
import {
  type BlockPosition,
  type ChainProgress,
  type Checkpoint,
  type ConfirmedBlock,
  comparePositions,
  type EmittedMessage,
  endOfBlock,
  type FeedMessage,
  type MessageFailure,
  type MessageOutcome,
  type MessagePosition,
} from './feed-message.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

export const CHAIN_COLUMNS =
  'chain_id, block_number, block_hash, block_time_ms, stored_after_block, stored_after_log, confirmed_block, confirmed_hash, removed_change';
/** The blobs are last, so that SQLite skips them while it looks at the other columns. */
export const MESSAGE_COLUMNS =
  'chain_id, block_number, log_index, message_id, sender, destination_id, block_hash, tx_hash, block_time_ms, executed_ms, status, ' +
  'next_attempt_ms, outcome, change, message, signed_message';

/** A part of the hash is enough to find the messages of a transaction, and keeps the index short. */
export const TX_KEY_LENGTH = 18;
export const TX_KEY = `substr(tx_hash, 1, ${TX_KEY_LENGTH})`;

/** The end of the year 9999: no answer of an RPC may have a later time. Files of earlier versions may. */
const MAX_TIME_MS = 253_402_300_799_999;

/**
 * `confirmed_hash` is null until a second reading has confirmed a block. `change` is the number of a message's last change, and `openings` has the number after which each opening of the store began to count, see
 * {@link MessageReader.hasChanges}. `next_attempt_ms` is null for signed messages. The indexes serve cursors, the filters of a page, retention, and
 * the queue of the signer.
 */
export const MESSAGE_SCHEMA: DatabaseSchema = {
  version: 3,
  afterLoss:
    'its messages are lost, and each chain begins at its head; set fromBlock to read older blocks, or let an operator replay them (docs/operate.md)',
  migrations: {
    // Cursors of format 2 are expired, so no reader asks for the changes before.
    2: `
      ALTER TABLE chains ADD COLUMN confirmed_block INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE chains ADD COLUMN removed_change INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE chains ADD COLUMN confirmed_hash TEXT;
      UPDATE chains SET confirmed_block = block_number, confirmed_hash = block_hash;
      ALTER TABLE messages ADD COLUMN change INTEGER NOT NULL DEFAULT 0`,
  },
  tables: `
    CREATE TABLE IF NOT EXISTS chains (
      chain_id TEXT PRIMARY KEY,
      block_number INTEGER NOT NULL, block_hash TEXT NOT NULL, block_time_ms INTEGER NOT NULL,
      stored_after_block INTEGER NOT NULL, stored_after_log INTEGER NOT NULL,
      confirmed_block INTEGER NOT NULL, confirmed_hash TEXT, removed_change INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS openings (id TEXT PRIMARY KEY, after_change INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS messages (
      chain_id TEXT NOT NULL, block_number INTEGER NOT NULL, log_index INTEGER NOT NULL, message_id BLOB NOT NULL,
      sender TEXT NOT NULL, destination_id TEXT, block_hash TEXT NOT NULL, tx_hash TEXT NOT NULL,
      block_time_ms INTEGER NOT NULL, executed_ms INTEGER NOT NULL,
      status TEXT NOT NULL, next_attempt_ms INTEGER, outcome TEXT NOT NULL, change INTEGER NOT NULL,
      message BLOB NOT NULL, signed_message BLOB,
      UNIQUE (chain_id, block_number, log_index));
    CREATE INDEX IF NOT EXISTS messages_by_change ON messages (change);
    CREATE INDEX IF NOT EXISTS messages_by_id ON messages (message_id);
    CREATE INDEX IF NOT EXISTS messages_by_tx ON messages (${TX_KEY});
    CREATE INDEX IF NOT EXISTS messages_by_sender ON messages (chain_id, sender, block_number, log_index);
    CREATE INDEX IF NOT EXISTS messages_by_destination ON messages (chain_id, destination_id, block_number, log_index);
    CREATE INDEX IF NOT EXISTS messages_by_status ON messages (chain_id, status, block_number, log_index);
    CREATE INDEX IF NOT EXISTS messages_by_time ON messages (block_time_ms, block_number, log_index);
    CREATE INDEX IF NOT EXISTS messages_to_sign ON messages (status, next_attempt_ms);
    CREATE INDEX IF NOT EXISTS messages_unsigned ON messages (status, executed_ms);
    UPDATE messages SET block_time_ms = executed_ms WHERE block_time_ms > ${MAX_TIME_MS};
    UPDATE chains SET block_time_ms = 0 WHERE block_time_ms > ${MAX_TIME_MS}`,
};

export function valuesOf(emitted: EmittedMessage, change: number): SQLInputValue[] {
  const { chainID, blockNumber, logIndex, message, sender, destinationChainID, blockHash, txHash } = emitted;
  const { blockTimeMs, executedMs } = emitted;
  return [
    chainID,
    blockNumber,
    logIndex,
    idBytes(message.id),
    sender,
    destinationChainID ?? null,
    blockHash,
    txHash,
    blockTimeMs,
    executedMs,
    'pending',
    executedMs,
    '{}',
    change,
    message.bytes,
    null,
  ];
}

/** @throws if the row is damaged */
export function messageOf(row: Row): FeedMessage {
  const destination = row['destination_id'];
  return {
    ...positionOf(row),
    message: parseUnsignedMessage(row['message'] as Uint8Array),
    sender: String(row['sender']),
    destinationChainID: destination === null ? undefined : (String(destination) as BlockchainID),
    blockHash: String(row['block_hash']),
    txHash: String(row['tx_hash']),
    blockTimeMs: Number(row['block_time_ms']),
    executedMs: Number(row['executed_ms']),
    outcome: outcomeOf(row),
    change: Number(row['change']),
  };
}

export function positionOf(row: Row): MessagePosition {
  return {
    chainID: String(row['chain_id']) as BlockchainID,
    blockNumber: Number(row['block_number']),
    logIndex: Number(row['log_index']),
  };
}

export function encodeOutcome(outcome: MessageOutcome): string {
  const { status: _, ...details } = { ...outcome, signedMessage: undefined };
  return JSON.stringify(details, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function outcomeOf(row: Row): MessageOutcome {
  const status = row['status'];
  if (status === 'pending') return { status };
  const details: unknown = JSON.parse(String(row['outcome']));
  if (status === 'failed') return { status, ...(details as MessageFailure) };
  const { signingSubnetID, pChainHeight, signedWeight, totalWeight, signedMs } = details as Record<
    'signingSubnetID' | 'pChainHeight' | 'signedWeight' | 'totalWeight',
    string
  > & { signedMs: number };
  return {
    status: 'signed',
    signedMessage: row['signed_message'] as Uint8Array,
    signingSubnetID: signingSubnetID as SubnetID,
    pChainHeight: BigInt(pChainHeight),
    signedWeight: BigInt(signedWeight),
    totalWeight: BigInt(totalWeight),
    signedMs,
  };
}

export function progressOf(row: Row): ChainProgress {
  const watermark = checkpointOf(row);
  const storedAfter = storedAfterOf(row);
  const before = (column: string): number => (toNumber(row[column]) ?? Number.POSITIVE_INFINITY) - 1;
  const confirmed = Number(row['confirmed_block']);
  const settled = endOfBlock(Math.min(confirmed, before('first_pending'), before('first_failed')));
  return {
    chainID: String(row['chain_id']) as BlockchainID,
    storedAfter,
    watermark,
    signedThrough: Math.min(watermark.blockNumber, before('first_pending')),
    confirmed,
    settled: comparePositions(settled, storedAfter) < 0 ? storedAfter : settled,
    removedChange: Number(row['removed_change']),
  };
}

export function checkpointOf(row: Row): Checkpoint {
  return {
    blockNumber: Number(row['block_number']),
    blockHash: String(row['block_hash']),
    blockTimeMs: Number(row['block_time_ms']),
  };
}

export function confirmedOf(chain: Row): ConfirmedBlock {
  const hash = chain['confirmed_hash'];
  return { blockNumber: Number(chain['confirmed_block']), blockHash: hash === null ? undefined : String(hash) };
}

export function storedAfterOf(row: Row): BlockPosition {
  return { blockNumber: Number(row['stored_after_block']), logIndex: Number(row['stored_after_log']) };
}

export function toNumber(value: SQLOutputValue | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

/** Returns the number of stored messages, and their bytes. */
export function readCounts(database: DatabaseSync): { readonly messages: number; readonly bytes: number } {
  const row = database
    .prepare(
      'SELECT count(*) AS messages, sum(length(message) + ifnull(length(signed_message), 0)) AS bytes FROM messages',
    )
    .get();
  return { messages: Number(row?.['messages']), bytes: Number(row?.['bytes'] ?? 0) };
}

/** Returns the bytes of a message, unsigned and signed. */
export function bytesOfRow(row: Row): number {
  return [row['message'], row['signed_message']].reduce<number>((sum, value) => sum + lengthOf(value), 0);
}

function lengthOf(value: unknown): number {
  return value instanceof Uint8Array ? value.length : 0;
}
