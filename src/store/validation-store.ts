import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { idBytes, type ValidationID } from '../primitives/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
} from '../warp/justification.ts';

/**
 * What the index of L1 validations keeps, in a SQLite database: in memory, or in a file that outlives the process. Either
 * way a lookup is one search of a B-tree, and memory holds a bounded cache of pages, or a bounded number of entries.
 */
export interface ValidationStoreOptions {
  /** Of the folder for the file, made where it is not there. Undefined keeps all in memory. */
  readonly directory: string | undefined;
  /** Each network has a file of its own. */
  readonly networkID: number;
  /** In memory only: the oldest entries go first. An entry has some 400 bytes. */
  readonly maxOrigins?: number;
}

const DEFAULT_MAX_ORIGINS = 200_000;
/** Raised with each change of the tables. */
const SCHEMA_VERSION = 1;

interface Point {
  readonly height: bigint;
  readonly id: string;
}

interface Position {
  readonly checkpoints: readonly Point[];
  readonly low: { readonly height: bigint; readonly parentID: string; readonly isFloor: boolean };
}

interface Batch {
  readonly position: Position;
  readonly entries: readonly {
    readonly height: bigint;
    readonly origins: readonly {
      readonly validationID: ValidationID;
      readonly justification: L1ValidatorRegistrationJustification;
    }[];
  }[];
}

/** Fits the port of the same name in `pchain`. */
export interface SqliteValidationStore extends Disposable {
  position(): Promise<Position | undefined>;
  originOf(validationID: ValidationID): Promise<L1ValidatorRegistrationJustification | undefined>;
  commit(batch: Batch): Promise<void>;
}

/** @throws where the file cannot be opened, or was written by another version */
export function openValidationStore({
  directory,
  networkID,
  maxOrigins = DEFAULT_MAX_ORIGINS,
}: ValidationStoreOptions): SqliteValidationStore {
  if (directory !== undefined) mkdirSync(directory, { recursive: true });
  const path = directory === undefined ? ':memory:' : join(directory, `l1-validations-${networkID}.sqlite`);
  const database = new DatabaseSync(path);
  try {
    prepareTables(database, path);
  } catch (error) {
    database.close();
    throw error;
  }
  const findOrigin = database.prepare('SELECT justification FROM origins WHERE validation_id = ?');
  const findPosition = database.prepare('SELECT value FROM position WHERE id = 1');
  const putOrigin = database.prepare('INSERT OR IGNORE INTO origins VALUES (?, ?, ?)');
  const putPosition = database.prepare('INSERT OR REPLACE INTO position VALUES (1, ?)');
  const countOrigins = database.prepare('SELECT count(*) AS count FROM origins');
  const dropOldest = database.prepare(
    'DELETE FROM origins WHERE validation_id IN (SELECT validation_id FROM origins ORDER BY height LIMIT ?)',
  );

  function write({ position, entries }: Batch): void {
    for (const { height, origins } of entries) {
      for (const { validationID, justification } of origins) {
        putOrigin.run(idBytes(validationID), encodeJustification(justification), height);
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
      const row = findPosition.get();
      return row === undefined ? undefined : parsePosition(String(row['value']));
    },
    async originOf(validationID) {
      const row = findOrigin.get(idBytes(validationID));
      return row === undefined ? undefined : parseJustification(row['justification'] as Uint8Array);
    },
    async commit(batch) {
      database.exec('BEGIN IMMEDIATE');
      try {
        write(batch);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
    [Symbol.dispose]: () => database.close(),
  };
}

function prepareTables(database: DatabaseSync, path: string): void {
  // A commit that is lost with the machine's power is read again; one that is half there cannot be.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000');
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version !== 0 && version !== SCHEMA_VERSION) {
    throw new Error(
      `${path} has the format ${version}, this version reads ${SCHEMA_VERSION}: move it away to start anew`,
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

function parsePosition(text: string): Position {
  const { checkpoints, low } = JSON.parse(text) as {
    checkpoints: { height: string; id: string }[];
    low: { height: string; parentID: string; isFloor: boolean };
  };
  return {
    checkpoints: checkpoints.map(({ height, id }) => ({ height: BigInt(height), id })),
    low: { ...low, height: BigInt(low.height) },
  };
}
