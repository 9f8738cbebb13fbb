import type { DatabaseSync } from 'node:sqlite';
import { type Clock, nextTurn, systemClock } from '../../lib/concurrency/clock.ts';
import { idBytes, type ValidationID } from '../../warp/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
  type ValidationOrigin,
} from '../../warp/justification.ts';
import {
  type DatabasePlace,
  type DatabaseSchema,
  databasePath,
  inTransaction,
  openDatabase,
  withStoreError,
} from './sqlite.ts';

/**
 * The stored index of L1 validations: their origins, and the range of blocks read. Methods reject with a {@link StoreError} if the file
 * cannot be read or written; committed data stays unchanged.
 */
export interface ValidationStore {
  position(): Promise<IndexPosition | undefined>;
  originOf(validationID: ValidationID): Promise<L1ValidatorRegistrationJustification | undefined>;
  /** Writes the position together with the last origins, or after them. Existing origins stay unchanged. */
  commit(batch: IndexBatch): Promise<void>;
}

export interface IndexBatch {
  readonly position: IndexPosition;
  readonly entries: readonly {
    readonly height: bigint;
    readonly origins: readonly ValidationOrigin[];
  }[];
}

export interface IndexPosition {
  /** Highest block. */
  readonly top: { readonly height: bigint; readonly id: string };
  readonly low: {
    readonly height: bigint;
    readonly parentID: string;
    /** Whether the range is complete below. */
    readonly isFloor: boolean;
  };
}

export interface ValidationStoreOptions extends DatabasePlace {
  /** Limit in memory, above which the oldest entries are dropped. An entry has about 400 bytes. */
  readonly maxOrigins?: number;
  readonly clock?: Pick<Clock, 'afterTurn'>;
}

/** The files are `l1-validations-*.sqlite`. */
export const VALIDATION_FILES = 'l1-validations';
const DEFAULT_MAX_ORIGINS = 200_000;
/** Origins of one transaction. One takes about 20 µs, and blocks with conversions have thousands: the event loop runs other work in between. */
const MAX_WRITTEN = 128;
export const VALIDATION_SCHEMA: DatabaseSchema = {
  version: 2,
  afterLoss: 'the blocks are read again',
  migrations: {
    1: `UPDATE position SET value =
      json_object('top', json_extract(value, '$.checkpoints[#-1]'), 'low', json_extract(value, '$.low'))`,
  },
  tables: `
    CREATE TABLE IF NOT EXISTS origins (validation_id BLOB PRIMARY KEY, justification BLOB NOT NULL, height INTEGER NOT NULL)
      WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS origins_by_height ON origins (height);
    CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY, value TEXT NOT NULL)`,
};

/**
 * Opens the store as a SQLite database in memory or in a file. Memory use is bounded: a cache of pages, or a number of entries.
 *
 * @throws {StoreError} if the file cannot be opened, is no database, or was written by another version
 */
export function openValidationStore(options: ValidationStoreOptions): ValidationStore & Disposable {
  const path = databasePath(VALIDATION_FILES, options);
  const { directory, maxOrigins = DEFAULT_MAX_ORIGINS, clock = systemClock } = options;
  const database = openDatabase(path, directory, VALIDATION_SCHEMA, readPosition);
  const findOrigin = database.prepare('SELECT justification FROM origins WHERE validation_id = ?');
  const putOrigin = database.prepare('INSERT OR IGNORE INTO origins VALUES (?, ?, ?)');
  const putPosition = database.prepare('INSERT OR REPLACE INTO position VALUES (1, ?)');
  const countOrigins = database.prepare('SELECT count(*) AS count FROM origins');
  const dropOldest = database.prepare(
    'DELETE FROM origins WHERE validation_id IN (SELECT validation_id FROM origins ORDER BY height LIMIT ?)',
  );

  const write = (act: () => void): void =>
    withStoreError('write', path, VALIDATION_SCHEMA, () => inTransaction(database, act));

  function dropExcess(): void {
    const excess = Number(countOrigins.get()?.['count']) - maxOrigins;
    if (excess > 0) dropOldest.run(excess);
  }

  return {
    async position() {
      return withStoreError('read', path, VALIDATION_SCHEMA, () => readPosition(database));
    },
    async originOf(validationID) {
      return withStoreError('read', path, VALIDATION_SCHEMA, () => {
        const row = findOrigin.get(idBytes(validationID));
        return row === undefined ? undefined : parseJustification(row['justification'] as Uint8Array);
      });
    },
    async commit({ position, entries }) {
      const all = entries.flatMap(({ height, origins }) => origins.map((origin) => ({ ...origin, height })));
      // An origin proves itself, so those of a batch that fails, or of a process that ends, may stay: their blocks are read again.
      for (let start = 0; ; start += MAX_WRITTEN) {
        const isLast = start + MAX_WRITTEN >= all.length;
        write(() => {
          for (const { validationID, justification, height } of all.slice(start, start + MAX_WRITTEN)) {
            putOrigin.run(idBytes(validationID), encodeJustification(justification), height);
          }
          if (!isLast) return;
          putPosition.run(encodePosition(position));
          if (directory === undefined && all.length > 0) dropExcess();
        });
        if (isLast) return;
        await nextTurn(clock);
      }
    },
    [Symbol.dispose]: () => database.close(),
  };
}

function readPosition(database: DatabaseSync): IndexPosition | undefined {
  const row = database.prepare('SELECT value FROM position WHERE id = 1').get();
  return row === undefined ? undefined : parsePosition(String(row['value']));
}

function encodePosition(position: IndexPosition): string {
  return JSON.stringify(position, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function parsePosition(text: string): IndexPosition {
  const { top, low } = JSON.parse(text) as {
    top: { height: string; id: string };
    low: { height: string; parentID: string; isFloor: boolean };
  };
  return { top: { ...top, height: BigInt(top.height) }, low: { ...low, height: BigInt(low.height) } };
}
