import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { BlockchainID } from '../warp/ids.ts';
import type { ChangeQuery, FeedMessage, MessageQuery, MessageSelection } from './feed-message.ts';
import { MESSAGE_COLUMNS, positionOf, type Row, TX_KEY, TX_KEY_LENGTH } from './message-schema.ts';

/**
 * Reads messages by position and by change, with any combination of filters.
 *
 * @param readable returns nothing for a damaged row
 */
export function createMessageSelector(database: DatabaseSync, readable: (row: Row) => readonly FeedMessage[]) {
  /** One for each combination of filters. */
  const statements = new Map<string, StatementSync>();

  function statementFor(from: string, conditions: string, order: string): StatementSync {
    const text = `SELECT ${MESSAGE_COLUMNS} FROM ${from} WHERE ${conditions} ORDER BY ${order} LIMIT ?`;
    let statement = statements.get(text);
    if (statement === undefined) {
      statement = database.prepare(text);
      statements.set(text, statement);
    }
    return statement;
  }

  /** Reads `limit` messages of each chain, so that any of them may be the first. */
  function page(query: MessageQuery): readonly FeedMessage[] {
    const { after, limit, order = 'oldest_first' } = query;
    const [filters, values] = filtersOf(query);
    const { beyond, columns, sign } = ORDERS[order];
    const conditions = `chain_id = ? AND ${beyond}${filters}`;
    const from = query.txHash === undefined ? 'messages' : BY_TRANSACTION;
    const statement = statementFor(from, conditions, columns);
    const rows = [...after].map(([chainID, { blockNumber, logIndex }]) =>
      statement.all(chainID, blockNumber, logIndex, ...values, limit),
    );
    const merged = mergeByTime(rows, limit, sign);
    const messages = merged.flatMap(readable);
    if (messages.length === merged.length || merged.length < limit) return messages;
    // A shorter page would mean that there are no more messages.
    const next = new Map([...after, ...merged.map((row) => [positionOf(row).chainID, positionOf(row)] as const)]);
    return [...messages, ...page({ ...query, after: next, limit: limit - messages.length })];
  }

  function changes(query: ChangeQuery): readonly FeedMessage[] {
    const { chainID, after, through, limit } = query;
    const [filters, values] = filtersOf(query, chainID);
    // Another index could make it look at all messages of a sender.
    const from = query.txHash === undefined ? 'messages INDEXED BY messages_by_change' : BY_TRANSACTION;
    const rows = statementFor(from, `change > ? AND change <= ?${filters}`, 'change').all(
      after,
      through,
      ...values,
      limit,
    );
    const messages = rows.flatMap(readable);
    if (messages.length === rows.length || rows.length < limit) return messages;
    const next = Number(rows.at(-1)?.['change']);
    return [...messages, ...changes({ ...query, after: next, limit: limit - messages.length })];
  }

  return { page, changes };
}

const ORDERS = {
  oldest_first: { beyond: '(block_number, log_index) > (?, ?)', columns: 'block_number, log_index', sign: 1 },
  newest_first: {
    beyond: '(block_number, log_index) < (?, ?)',
    columns: 'block_number DESC, log_index DESC',
    sign: -1,
  },
} as const;
const BY_TRANSACTION = 'messages INDEXED BY messages_by_tx';

function filtersOf(selection: MessageSelection, chainID?: BlockchainID): [string, SQLInputValue[]] {
  const { sender, destinationChainID, status, txHash } = selection;
  const filters: [string, SQLInputValue | undefined][] = [
    ['chain_id', chainID],
    ['sender', sender],
    ['destination_id', destinationChainID],
    ['status', status],
    [TX_KEY, txHash?.slice(0, TX_KEY_LENGTH)],
    ['tx_hash', txHash],
  ];
  const given = filters.filter((filter): filter is [string, SQLInputValue] => filter[1] !== undefined);
  return [given.map(([column]) => ` AND ${column} = ?`).join(''), given.map(([, value]) => value)];
}

/**
 * Merges lists without changing the order of any, even if its times are not in order.
 *
 * @param sign -1 if the newest are first
 */
function mergeByTime(lists: readonly Row[][], limit: number, sign: 1 | -1): Row[] {
  const merged: Row[] = [];
  const next = lists.map(() => 0);
  const timeOf = (list: number): number => {
    const row = lists[list]?.[next[list] ?? 0];
    return row === undefined ? Infinity : sign * Number(row['block_time_ms']);
  };
  while (merged.length < limit) {
    const first = lists.reduce((best, _, list) => (timeOf(list) < timeOf(best) ? list : best), 0);
    const row = lists[first]?.[next[first] ?? 0];
    if (row === undefined) break;
    merged.push(row);
    next[first] = (next[first] ?? 0) + 1;
  }
  return merged;
}
