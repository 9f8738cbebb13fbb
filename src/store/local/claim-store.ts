import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { type DatabaseSchema, openDatabase, withStoreError } from './sqlite.ts';

/** The ends of claims in Unix milliseconds, which survive a restart. A failure of the file is logged, and the claim then lasts as long as the process. */
export interface ClaimStore extends Disposable {
  endOf(key: string): number | undefined;
  put(key: string, endsMs: number): void;
  delete(key: string): void;
}

const FILE = 'claims.sqlite';
const SCHEMA: DatabaseSchema = {
  version: 1,
  afterLoss: 'tokens may be reindexed again within the hour',
  tables: `
    CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, ends_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS claims_by_end ON claims (ends_ms)`,
};
/** Some 20 MB. The ones that end first are dropped. */
const MAX_CLAIMS = 100_000;

/** Creates the store of a folder. Its file is opened by the first claim, because most services make none. */
export function createClaimStore(directory: string, clock: Clock, logger: Logger): ClaimStore {
  const path = join(directory, FILE);
  const warn = createThrottledWarnings(logger, clock);
  let opened: DatabaseSync | undefined;

  function run<T>(action: 'read' | 'write', act: (database: DatabaseSync) => T): T | undefined {
    try {
      return withStoreError(action, path, SCHEMA, () => {
        opened ??= openDatabase(path, directory, SCHEMA, (database) => database.prepare('SELECT 1 FROM claims').get());
        return act(opened);
      });
    } catch (err) {
      warn('claims', { err }, 'a claim cannot be stored or read: a restart forgets it');
      return undefined;
    }
  }

  return {
    endOf(key) {
      const row = run('read', (database) => database.prepare('SELECT ends_ms FROM claims WHERE key = ?').get(key));
      return row === undefined ? undefined : Number(row['ends_ms']);
    },
    put(key, endsMs) {
      run('write', (database) => {
        database.prepare('INSERT OR REPLACE INTO claims VALUES (?, ?)').run(key, endsMs);
        database.prepare('DELETE FROM claims WHERE ends_ms <= ?').run(Math.floor(clock.now()));
        database
          .prepare('DELETE FROM claims WHERE key IN (SELECT key FROM claims ORDER BY ends_ms DESC LIMIT -1 OFFSET ?)')
          .run(MAX_CLAIMS);
      });
    },
    delete(key) {
      run('write', (database) => database.prepare('DELETE FROM claims WHERE key = ?').run(key));
    },
    [Symbol.dispose]: () => opened?.close(),
  };
}
