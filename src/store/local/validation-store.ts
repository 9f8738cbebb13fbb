import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, nextTurn, systemClock } from '../../lib/concurrency/clock.ts';
import { createFolder } from '../../lib/net/create-folder.ts';
import { idBytes, type ValidationID } from '../../warp/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
  type ValidationOrigin,
} from '../../warp/justification.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';

/**
 * What the index of L1 validations keeps: where validations come from, and which blocks were read for it. Where the file can be read
 * or written no more, its methods reject with a {@link StoreError}; what was committed stays as it was.
 */
export interface ValidationStore {
  position(): Promise<IndexPosition | undefined>;
  originOf(validationID: ValidationID): Promise<L1ValidatorRegistrationJustification | undefined>;
  /** Writes all of it or nothing, one batch after the other. An origin that is there already is left as it is. */
  commit(batch: IndexBatch): Promise<void>;
}

export interface IndexBatch {
  readonly position: IndexPosition;
  readonly entries: readonly {
    readonly height: bigint;
    readonly origins: readonly ValidationOrigin[];
  }[];
}

/** The range of heights that was read. */
export interface IndexPosition {
  /**
   * Some of the blocks that were read, in ascending order; the last one is the highest of all. They show which blocks another API
   * node has in common with these.
   */
  readonly checkpoints: readonly BlockPoint[];
  readonly low: {
    readonly height: bigint;
    readonly parentID: string;
    /** Whether the range need not grow down any more. */
    readonly isFloor: boolean;
  };
}

export interface BlockPoint {
  readonly height: bigint;
  readonly id: string;
}

export interface ValidationStoreOptions {
  /** Path of the folder for the file, which is created if it does not exist. Undefined keeps everything in memory. */
  readonly directory: string | undefined;
  /** Each network has a file of its own. */
  readonly networkID: number;
  /** Tells networks apart that have the same ID, as local ones may. */
  readonly name?: string;
  /** In memory only: beyond this the oldest entries are dropped. An entry has some 400 bytes. */
  readonly maxOrigins?: number;
  /** Default: the system's. */
  readonly clock?: Pick<Clock, 'afterTurn'>;
}

const DEFAULT_MAX_ORIGINS = 200_000;
/** An origin takes some 20 µs, and blocks with conversions have thousands: after so many, others have their turn of the event loop. */
const MAX_WRITTEN_A_TURN = 128;
/** Raised with each change of the tables. */
const SCHEMA_VERSION = 1;

/** For another process's commit. The whole service waits with us: SQLite's calls do not return before. */
const BUSY_TIMEOUT_MS = 200;

type Action = 'open' | 'read' | 'write';

/** The store cannot be opened, read or written. The message names the path. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(action: Action, path: string, reason: string, options?: ErrorOptions) {
    super(`cannot ${action} the store at ${path}: ${reason}`, options);
  }
}

/** Result codes of SQLite that an operator can do something about, each with what. */
const ADVICE: Readonly<Record<number, string>> = {
  5: 'another process holds it; each service needs a store of its own',
  8: 'the service may not write there',
  10: 'the disk or its file system fails, or may hold no more',
  11: 'the file is damaged; move it away, and the blocks are read anew',
  13: 'there is no space left',
  14: 'the folder does not exist, or the service may not write there',
  26: 'another file is in its place; move it away',
};

/**
 * Opens the store as a SQLite database in memory, or in a file that outlives the process. Either way a lookup is one search of a
 * B-tree, and memory holds a bounded cache of pages, or a bounded number of entries.
 *
 * @throws {StoreError} if the file cannot be opened, is no database, or was written by another version
 */
export function openValidationStore(options: ValidationStoreOptions): ValidationStore & Disposable {
  const path = pathOf(options);
  const { directory, maxOrigins = DEFAULT_MAX_ORIGINS, clock = systemClock } = options;
  const database = openDatabase(path, directory);
  const findOrigin = database.prepare('SELECT justification FROM origins WHERE validation_id = ?');
  const putOrigin = database.prepare('INSERT OR IGNORE INTO origins VALUES (?, ?, ?)');
  const putPosition = database.prepare('INSERT OR REPLACE INTO position VALUES (1, ?)');
  const countOrigins = database.prepare('SELECT count(*) AS count FROM origins');
  const dropOldest = database.prepare(
    'DELETE FROM origins WHERE validation_id IN (SELECT validation_id FROM origins ORDER BY height LIMIT ?)',
  );

  async function write({ position, entries }: IndexBatch): Promise<void> {
    let count = 0;
    for (const { height, origins } of entries) {
      for (const { validationID, justification } of origins) {
        putOrigin.run(idBytes(validationID), encodeJustification(justification), height);
        count += 1;
        if (count % MAX_WRITTEN_A_TURN === 0) await nextTurn(clock);
      }
    }
    putPosition.run(
      JSON.stringify(position, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    );
    if (directory !== undefined || entries.length === 0) return;
    const excess = Number(countOrigins.get()?.['count']) - maxOrigins;
    if (excess > 0) dropOldest.run(excess);
  }

  return {
    async position() {
      return wordedAs('read', path, () => readPosition(database));
    },
    async originOf(validationID) {
      return wordedAs('read', path, () => {
        const row = findOrigin.get(idBytes(validationID));
        return row === undefined ? undefined : parseJustification(row['justification'] as Uint8Array);
      });
    },
    async commit(batch) {
      wordedAs('write', path, () => database.exec('BEGIN IMMEDIATE'));
      try {
        await write(batch);
        database.exec('COMMIT');
      } catch (error) {
        // After some failures, such as that of a full disk, SQLite has rolled back by itself.
        if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
        throw worded('write', path, error);
      }
    },
    [Symbol.dispose]: () => database.close(),
  };
}

/** Public networks have one ID each. */
function pathOf({ directory, networkID, name }: ValidationStoreOptions): string {
  if (directory === undefined) return ':memory:';
  const isPublic = PUBLIC_NETWORKS.some((network) => network.networkID === networkID);
  const suffix = name === undefined || isPublic ? '' : `-${encodeURIComponent(name)}`;
  return join(directory, `l1-validations-${networkID}${suffix}.sqlite`);
}

/** @throws {StoreError} where `act` fails */
function wordedAs<T>(action: Action, path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw worded(action, path, error);
  }
}

function worded(action: Action, path: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const advice = ADVICE[primaryCodeOf(cause)];
  return new StoreError(action, path, advice === undefined ? reason : `${reason} (${advice})`, { cause });
}

/** Extended result codes have the primary one in their lowest byte. */
function primaryCodeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' ? code & 0xff : -1;
}

function openDatabase(path: string, directory: string | undefined): DatabaseSync {
  return wordedAs('open', path, () => {
    if (directory !== undefined) prepareFolder(resolve(directory), path);
    const database = new DatabaseSync(path);
    try {
      prepareTables(database, path);
      // What cannot be read is to be known now, and not when the first block has been read.
      readPosition(database);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** @throws where something else than a file is in the place of the file */
function prepareFolder(directory: string, path: string): void {
  createFolder(directory);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new StoreError('open', path, 'it is no file');
}

function prepareTables(database: DatabaseSync, path: string): void {
  // With these a loss of power may undo the last commits, whose blocks are then read again, but leaves none half written.
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`);
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version !== 0 && version !== SCHEMA_VERSION) {
    throw new StoreError(
      'open',
      path,
      `it has format ${version}, and this version reads format ${SCHEMA_VERSION}; move it away to start with an empty one`,
    );
  }
  database.exec(`
    CREATE TABLE IF NOT EXISTS origins (validation_id BLOB PRIMARY KEY, justification BLOB NOT NULL, height INTEGER NOT NULL)
      WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS origins_by_height ON origins (height);
    CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    PRAGMA user_version = ${SCHEMA_VERSION};
  `);
}

function readPosition(database: DatabaseSync): IndexPosition | undefined {
  const row = database.prepare('SELECT value FROM position WHERE id = 1').get();
  return row === undefined ? undefined : parsePosition(String(row['value']));
}

function parsePosition(text: string): IndexPosition {
  const { checkpoints, low } = JSON.parse(text) as {
    checkpoints: { height: string; id: string }[];
    low: { height: string; parentID: string; isFloor: boolean };
  };
  return {
    checkpoints: checkpoints.map(({ height, id }) => ({ height: BigInt(height), id })),
    low: { ...low, height: BigInt(low.height) },
  };
}
