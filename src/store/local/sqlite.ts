import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFolder } from '../../lib/net/create-folder.ts';
import { describeFileError } from '../../lib/net/file-error.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';

/** Where a database of a network is. */
export interface DatabasePlace {
  /** Path of the folder for the file, which is created if it does not exist. Undefined keeps everything in memory. */
  readonly directory: string | undefined;
  /** Selects the file: each network has one. */
  readonly networkID: number;
  /** Distinguishes private networks with the same ID. */
  readonly name?: string;
}

export interface DatabaseSchema {
  /** Raised with each change of the tables. */
  readonly version: number;
  /** Statements that create the tables unless they exist. */
  readonly tables: string;
  /** What follows where a damaged file is moved away, for operators. */
  readonly afterLoss: string;
  /** Statements that turn tables of an earlier version, by its number, into the current ones. `tables` is executed after them. */
  readonly migrations?: Readonly<Record<number, string>>;
}

type Action = 'open' | 'read' | 'write';

/** Bytes of the write-ahead log that stay on the disk. It grows while another process reads, such as a backup. */
export const MAX_LOG_BYTES = 8 * 1024 * 1024;
/** Wait for another process's commit. SQLite's calls block the event loop meanwhile. */
const BUSY_TIMEOUT_MS = 200;

/** The store cannot be opened, read or written. The message names the path. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(action: Action, path: string, reason: string, options?: ErrorOptions) {
    super(`cannot ${action} the store at ${path}: ${reason}`, options);
  }

  /** Whether there is no space left on the disk. */
  get isFull(): boolean {
    const { cause } = this;
    const isOfFile = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
    return isOfFile || primaryCodeOf(cause) === FULL;
  }
}

const CORRUPT = 11;
const FULL = 13;

/** Advice for the operator by result code of SQLite. */
const ADVICE: Readonly<Record<number, string>> = {
  5: 'another process holds it; each service needs its own store',
  8: 'the service may not write there',
  10: 'the disk or its file system fails, or may hold no more',
  [CORRUPT]: 'the file is damaged; restore it from a backup, or move it away',
  [FULL]: 'there is no space left',
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
    const reason = `${describeFileError(cause)} (give the service a folder that it may write to)`;
    throw new StoreError('open', directory, reason, { cause });
  }
}

const MEMORY = ':memory:';

/** Returns the path of the file of this kind, such as `l1-validations`. */
export function databasePath(kind: string, { directory, networkID, name }: DatabasePlace): string {
  if (directory === undefined) return MEMORY;
  const isPublic = PUBLIC_NETWORKS.some((network) => network.networkID === networkID);
  const suffix = name === undefined || isPublic ? '' : `-${encodeURIComponent(name)}`;
  return join(directory, `${kind}-${networkID}${suffix}.sqlite`);
}

/**
 * Opens a database and creates its tables.
 *
 * @param probe reads from the tables, so that a damaged file fails now rather than later
 * @throws {StoreError} if the file cannot be opened, is no database, or was written by another version
 */
export function openDatabase(
  path: string,
  directory: string | undefined,
  schema: DatabaseSchema,
  probe: (database: DatabaseSync) => void,
): DatabaseSync {
  return withStoreError('open', path, schema, () => {
    if (directory !== undefined) prepareFolder(resolve(directory), path);
    const database = new DatabaseSync(path);
    try {
      prepareTables(database, path, schema);
      probe(database);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/**
 * Opens an existing database for reading alone, as another process may use it, and closes it.
 *
 * @throws {StoreError} if the file cannot be opened, is no database, or was written by another version
 */
export function checkDatabase(path: string, schema: DatabaseSchema): void {
  withStoreError('open', path, schema, () => {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      requireVersion(database, path, schema);
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
    } finally {
      database.close();
    }
  });
}

/** @throws {StoreError} if `act` fails */
export function withStoreError<T>(
  action: Action,
  path: string,
  schema: Pick<DatabaseSchema, 'afterLoss'>,
  act: () => T,
): T {
  try {
    return act();
  } catch (error) {
    throw toStoreError(action, path, schema, error);
  }
}

function toStoreError(
  action: Action,
  path: string,
  { afterLoss }: Pick<DatabaseSchema, 'afterLoss'>,
  cause: unknown,
): StoreError {
  if (cause instanceof StoreError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const code = primaryCodeOf(cause);
  const advice = ADVICE[code];
  const words = advice === undefined ? '' : ` (${advice}${code === CORRUPT ? `: ${afterLoss}` : ''})`;
  return new StoreError(action, path, `${reason}${words}`, { cause });
}

/** Returns a function that throws if the file is no longer in its place: SQLite would write on into a file without a name. */
export function createFileCheck(path: string): () => void {
  if (path === MEMORY) return () => undefined;
  const { dev, ino } = statSync(path);
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.dev === dev && found.ino === ino) return;
    const reason = found === undefined ? 'the file was moved away or removed' : 'another file is in its place';
    throw new StoreError('write', path, `${reason}; put it back, or restart the service`);
  };
}

/** Executes writes in one transaction; one that fails changes nothing. It ends before another turn of the event loop. */
export function inTransaction<T>(database: DatabaseSync, write: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = write();
    database.exec('COMMIT');
    return result;
  } finally {
    // SQLite rolls back itself after some failures, such as a full disk.
    if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
  }
}

/** Extended result codes have the primary one in their lowest byte. */
export function primaryCodeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' ? code & 0xff : -1;
}

/** @throws if the path is no file */
function prepareFolder(directory: string, path: string): void {
  createFolder(directory);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new StoreError('open', path, 'it is no file');
}

function prepareTables(database: DatabaseSync, path: string, schema: DatabaseSchema): void {
  // A power loss may undo the last commits, whose blocks are then read again, but never leaves a partial one.
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`);
  database.exec(`PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`);
  const version = requireVersion(database, path, schema);
  const migration = schema.migrations?.[version] ?? '';
  inTransaction(database, () =>
    database.exec(`${migration}; ${schema.tables}; PRAGMA user_version = ${schema.version}`),
  );
}

/** Returns the version of the file, 0 for a new one. @throws {StoreError} if this version of the service cannot read it */
function requireVersion(database: DatabaseSync, path: string, schema: DatabaseSchema): number {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version !== 0 && version !== schema.version && schema.migrations?.[version] === undefined) {
    throw new StoreError(
      'open',
      path,
      `it has format ${version}, and this version reads format ${schema.version}; move it away to start with an empty one`,
    );
  }
  return version;
}
