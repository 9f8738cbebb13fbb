import { mkdtempSync, rmSync, statSync } from 'node:fs';
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
 * The stored index of L1 validations: their origins, and the range of blocks read. Methods reject with a {@link StoreError} if the file
 * cannot be read or written; committed data stays unchanged.
 */
export interface ValidationStore {
  position(): Promise<IndexPosition | undefined>;
  originOf(validationID: ValidationID): Promise<L1ValidatorRegistrationJustification | undefined>;
  /** Writes the batch in one transaction. Existing origins stay unchanged. */
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

export interface ValidationStoreOptions {
  /** Path of the folder for the file, which is created if it does not exist. Undefined keeps everything in memory. */
  readonly directory: string | undefined;
  /** Selects the file: each network has one. */
  readonly networkID: number;
  /** Distinguishes private networks with the same ID. */
  readonly name?: string;
  /** Limit in memory, above which the oldest entries are dropped. An entry has about 400 bytes. */
  readonly maxOrigins?: number;
  readonly clock?: Pick<Clock, 'afterTurn'>;
}

const DEFAULT_MAX_ORIGINS = 200_000;
/** An origin takes about 20 µs, and blocks with conversions have thousands; after so many, the event loop runs other work. */
const YIELD_EVERY = 128;
/** Raised with each change of the tables. */
const SCHEMA_VERSION = 1;

/** Wait for another process's commit. SQLite's calls block the event loop meanwhile. */
const BUSY_TIMEOUT_MS = 200;

type Action = 'open' | 'read' | 'write';

/** The store cannot be opened, read or written. The message names the path. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(action: Action, path: string, reason: string, options?: ErrorOptions) {
    super(`cannot ${action} the store at ${path}: ${reason}`, options);
  }
}

/** Advice for the operator by result code of SQLite. */
const ADVICE: Readonly<Record<number, string>> = {
  5: 'another process holds it; each service needs its own store',
  8: 'the service may not write there',
  10: 'the disk or its file system fails, or may hold no more',
  11: 'the file is damaged; move it away, and the blocks are read again',
  13: 'there is no space left',
  14: 'the folder does not exist, or the service may not write there',
  26: 'another file is in its place; move it away',
};

/**
 * Creates the folder and tries to write there, before the ID of the network is known, which selects the file.
 *
 * @throws {StoreError}
 */
export function checkStoreFolder(directory: string): void {
  try {
    createFolder(resolve(directory));
    rmSync(mkdtempSync(join(directory, '.writable-')), { recursive: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError('open', directory, `${reason} (give the service a folder that it may write to)`, { cause });
  }
}

/**
 * Opens the store as a SQLite database in memory or in a file. Memory use is bounded: a cache of pages, or a number of entries.
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
        if (count % YIELD_EVERY === 0) await nextTurn(clock);
      }
    }
    const { top, low } = position;
    putPosition.run(
      // Format 1 has a list of blocks.
      JSON.stringify({ checkpoints: [top], low }, (_key, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
    );
    if (directory !== undefined || entries.length === 0) return;
    const excess = Number(countOrigins.get()?.['count']) - maxOrigins;
    if (excess > 0) dropOldest.run(excess);
  }

  return {
    async position() {
      return withStoreError('read', path, () => readPosition(database));
    },
    async originOf(validationID) {
      return withStoreError('read', path, () => {
        const row = findOrigin.get(idBytes(validationID));
        return row === undefined ? undefined : parseJustification(row['justification'] as Uint8Array);
      });
    },
    async commit(batch) {
      withStoreError('write', path, () => database.exec('BEGIN IMMEDIATE'));
      try {
        await write(batch);
        database.exec('COMMIT');
      } catch (error) {
        // SQLite rolls back itself after some failures, such as a full disk.
        if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
        throw toStoreError('write', path, error);
      }
    },
    [Symbol.dispose]: () => database.close(),
  };
}

function pathOf({ directory, networkID, name }: ValidationStoreOptions): string {
  if (directory === undefined) return ':memory:';
  const isPublic = PUBLIC_NETWORKS.some((network) => network.networkID === networkID);
  const suffix = name === undefined || isPublic ? '' : `-${encodeURIComponent(name)}`;
  return join(directory, `l1-validations-${networkID}${suffix}.sqlite`);
}

/** @throws {StoreError} if `act` fails */
function withStoreError<T>(action: Action, path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw toStoreError(action, path, error);
  }
}

function toStoreError(action: Action, path: string, cause: unknown): StoreError {
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
  return withStoreError('open', path, () => {
    if (directory !== undefined) prepareFolder(resolve(directory), path);
    const database = new DatabaseSync(path);
    try {
      prepareTables(database, path);
      // Fail now rather than after the first block.
      readPosition(database);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** @throws if the path is no file */
function prepareFolder(directory: string, path: string): void {
  createFolder(directory);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new StoreError('open', path, 'it is no file');
}

function prepareTables(database: DatabaseSync, path: string): void {
  // A power loss may undo the last commits, whose blocks are then read again, but never leaves a partial one.
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
  const top = checkpoints.at(-1);
  if (top === undefined) throw new Error('the position has no block');
  return { top: { id: top.id, height: BigInt(top.height) }, low: { ...low, height: BigInt(low.height) } };
}
