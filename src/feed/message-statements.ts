import type { DatabaseSync } from 'node:sqlite';
import { CHAIN_COLUMNS, MESSAGE_COLUMNS } from './message-schema.ts';

/** A failed message counts as settled this long after its block, by the time of the chain. */
const SETTLED_AFTER_MS = 3_600_000;
/** The last failed messages of a chain that may not count as settled. */
const MAX_UNSETTLED = 1_000;

/** Prepares the statements of a store of messages. */
export function prepareStatements(database: DatabaseSync) {
  const at = 'chain_id = ? AND block_number = ? AND log_index = ?';
  const select = `SELECT ${MESSAGE_COLUMNS} FROM messages`;
  const chains = `SELECT ${CHAIN_COLUMNS},
    (SELECT min(block_number) FROM messages AS m WHERE m.chain_id = chains.chain_id AND status = 'pending') AS first_pending,
    (SELECT min(block_number) FROM (SELECT block_number, block_time_ms FROM messages AS m
      WHERE m.chain_id = chains.chain_id AND status = 'failed' ORDER BY block_number DESC LIMIT ${MAX_UNSETTLED})
      AS failed WHERE failed.block_time_ms > chains.block_time_ms - ${SETTLED_AFTER_MS}) AS first_failed FROM chains`;
  const placeholders = MESSAGE_COLUMNS.split(',')
    .map(() => '?')
    .join(', ');
  return {
    chains: database.prepare(`${chains} ORDER BY chain_id`),
    chain: database.prepare(`${chains} WHERE chain_id = ?`),
    addChain: database.prepare(`INSERT INTO chains (${CHAIN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    setCheckpoint: database.prepare(
      'UPDATE chains SET block_number = ?, block_hash = ?, block_time_ms = ? WHERE chain_id = ?',
    ),
    setConfirmed: database.prepare('UPDATE chains SET confirmed_block = ?, confirmed_hash = ? WHERE chain_id = ?'),
    newestBlock: database.prepare('SELECT max(block_time_ms) AS newest FROM chains'),
    setRemovedChange: database.prepare('UPDATE chains SET removed_change = ? WHERE chain_id = ?'),
    setStoredAfter: database.prepare(
      'UPDATE chains SET stored_after_block = ?, stored_after_log = ? WHERE chain_id = ?',
    ),
    insert: database.prepare(`INSERT OR IGNORE INTO messages (${MESSAGE_COLUMNS}) VALUES (${placeholders})`),
    at: database.prepare(`${select} WHERE ${at}`),
    byMessageID: database.prepare(`${select} WHERE message_id = ? ORDER BY block_number DESC, log_index DESC LIMIT 1`),
    status: database.prepare(`SELECT status FROM messages WHERE ${at}`),
    settle: database.prepare(
      `UPDATE messages SET status = ?, signed_message = ?, outcome = ?, next_attempt_ms = ?, change = ifnull(?, change) WHERE ${at}`,
    ),
    due: database.prepare(
      `${select} WHERE status = ? AND next_attempt_ms <= ? ORDER BY next_attempt_ms, block_number, log_index LIMIT ?`,
    ),
    neverDue: database.prepare(`UPDATE messages SET next_attempt_ms = NULL WHERE ${at}`),
    postpone: database.prepare(`UPDATE messages SET next_attempt_ms = ? WHERE ${at} AND status = 'pending'`),
    hasten: database.prepare('UPDATE messages SET next_attempt_ms = ? WHERE next_attempt_ms > ?'),
    oldestUnsigned: database.prepare(
      "SELECT min(executed_ms) AS oldest FROM messages WHERE status IN ('pending', 'failed')",
    ),
    oldest: database.prepare(
      `SELECT chain_id, block_number, log_index, block_time_ms, change, length(message) + ifnull(length(signed_message), 0) AS bytes
       FROM messages ORDER BY block_time_ms, block_number, log_index LIMIT ?`,
    ),
    setAfterChange: database.prepare('UPDATE openings SET after_change = ? WHERE id = ?'),
    removeAll: database.prepare('DELETE FROM messages WHERE chain_id = ?'),
    removeChain: database.prepare('DELETE FROM chains WHERE chain_id = ?'),
    remove: database.prepare(`DELETE FROM messages WHERE ${at}`),
  };
}
