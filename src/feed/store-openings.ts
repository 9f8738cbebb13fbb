import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { OPENING_BYTES } from './feed-message.ts';
import { toNumber } from './message-schema.ts';

/** Openings of the store whose cursors are valid. */
const MAX_OPENINGS = 1_000;

/** One opening of a store, which numbers changes after a number. */
export interface Opening {
  readonly id: string;
  readonly afterChange: number;
}

/** Adds an opening, and returns the last ones. */
export function addOpening(database: DatabaseSync): readonly Opening[] {
  const all = database
    .prepare('SELECT id, after_change FROM openings ORDER BY rowid DESC LIMIT ?')
    .all(MAX_OPENINGS - 1)
    .map((row) => ({ id: String(row['id']), afterChange: Number(row['after_change']) }))
    .reverse();
  const numbers = '(SELECT max(change) FROM messages) AS last, (SELECT max(removed_change) FROM chains) AS removed';
  const { last = null, removed = null } = database.prepare(`SELECT ${numbers}`).get() ?? {};
  const id = randomBytes(OPENING_BYTES).toString('hex');
  const afterChange = Math.max(toNumber(last) ?? 0, toNumber(removed) ?? 0, all.at(-1)?.afterChange ?? 0);
  database.prepare('INSERT INTO openings (id, after_change) VALUES (?, ?)').run(id, afterChange);
  database.prepare('DELETE FROM openings WHERE rowid <= (SELECT max(rowid) FROM openings) - ?').run(MAX_OPENINGS);
  return [...all, { id, afterChange }];
}
