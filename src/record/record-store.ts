import { parseHex } from '../lib/encoding/bytes.ts';
import {
  createFileCheck,
  type DatabasePlace,
  type DatabaseSchema,
  databasePath,
  inTransaction,
  openDatabase,
  withStoreError,
} from '../store/local/sqlite.ts';
import { idBytes, type SubnetID } from '../warp/ids.ts';
import { addCounts, decodeCounts, emptyCounts, encodeCounts, type SigningCounts } from './signing-counts.ts';

/** An hour or day since the Unix epoch, in UTC. */
export type Span = 'hour' | 'day';

/** The counts of one validator in one span. */
export interface RecordRow {
  /** Of the validator, see {@link RecordStore.idOf}. */
  readonly id: number;
  readonly counts: SigningCounts;
}

/** Counts of validators by hour and by day. A write is one transaction. All methods throw {@link StoreError}. */
export interface RecordStore extends Disposable {
  /** Returns the number that stands for a validator in rows; undefined if it has no rows. */
  idOf(subnetID: SubnetID, publicKeyHex: string): number | undefined;
  /** Adds counts to those of an hour. Validators beyond {@link MAX_VALIDATORS} are left out. */
  add(hour: number, counts: readonly ValidatorCounts[]): void;
  rows(span: Span, start: number): readonly RecordRow[];
  /** Returns the counts of a validator in the spans from `from` to `to` that have some. */
  rowsOf(
    id: number,
    span: Span,
    from: number,
    to: number,
  ): readonly (readonly [start: number, counts: SigningCounts])[];
  /** Writes the row of a day for each validator, and forgets validators without a row since `lastDay`. */
  addDay(day: number, rows: readonly RecordRow[], lastDay: number): void;
  /** The last day that has rows. */
  lastDay(): number | undefined;
  /** The first hour that has rows. */
  firstHour(): number | undefined;
  /** Removes the rows before these hours and days. */
  prune(firstHour: number, firstDay: number): void;
}

export interface ValidatorCounts {
  readonly subnetID: SubnetID;
  readonly publicKeyHex: string;
  readonly counts: SigningCounts;
}

/** The files are `validator-record-*.sqlite`. */
export const RECORD_FILES = 'validator-record';
/** Each has up to 73 hours and 90 days, of some 60 bytes each. */
const MAX_VALIDATORS = 20_000;

const SPANS = { hour: 0, day: 1 } as const;
export const RECORD_SCHEMA: DatabaseSchema = {
  version: 1,
  afterLoss: 'the record begins anew',
  tables: `
    CREATE TABLE IF NOT EXISTS validators (id INTEGER PRIMARY KEY, subnet_id BLOB NOT NULL, public_key BLOB NOT NULL, last_day INTEGER NOT NULL,
      UNIQUE (subnet_id, public_key));
    CREATE TABLE IF NOT EXISTS counts (span INTEGER, start INTEGER, validator INTEGER, counts BLOB NOT NULL,
      PRIMARY KEY (span, start, validator)) WITHOUT ROWID`,
};

/** @throws {StoreError} if the file cannot be opened, is no database, or was written by another version */
export function openRecordStore(place: DatabasePlace): RecordStore {
  const path = databasePath(RECORD_FILES, place);
  const database = openDatabase(path, place.directory, RECORD_SCHEMA, (opened) =>
    opened.prepare('SELECT count(*) FROM validators').get(),
  );
  const at = 'span = ? AND start = ? AND validator = ?';
  const statements = {
    find: database.prepare('SELECT id FROM validators WHERE subnet_id = ? AND public_key = ?'),
    countAll: database.prepare('SELECT count(*) AS count FROM validators'),
    insert: database.prepare('INSERT INTO validators (subnet_id, public_key, last_day) VALUES (?, ?, ?) RETURNING id'),
    get: database.prepare(`SELECT counts FROM counts WHERE ${at}`),
    put: database.prepare('INSERT OR REPLACE INTO counts (span, start, validator, counts) VALUES (?, ?, ?, ?)'),
    ofSpan: database.prepare('SELECT validator, counts FROM counts WHERE span = ? AND start = ?'),
    setLastDay: database.prepare('UPDATE validators SET last_day = ? WHERE id = ?'),
    forget: database.prepare('DELETE FROM validators WHERE last_day < ?'),
    lastStart: database.prepare('SELECT max(start) AS start FROM counts WHERE span = ?'),
    firstStart: database.prepare('SELECT min(start) AS start FROM counts WHERE span = ?'),
    prune: database.prepare('DELETE FROM counts WHERE span = ? AND start < ?'),
  };
  const requireFile = createFileCheck(path);
  const read = <T>(act: () => T): T => withStoreError('read', path, RECORD_SCHEMA, act);
  const write = (act: () => void): void =>
    withStoreError('write', path, RECORD_SCHEMA, () => {
      requireFile();
      inTransaction(database, act);
    });

  function idOf(subnetID: SubnetID, publicKeyHex: string): number | undefined {
    const row = statements.find.get(idBytes(subnetID), parseHex(publicKeyHex, 'BLS key'));
    return row === undefined ? undefined : Number(row['id']);
  }

  function findOrAdd(subnetID: SubnetID, publicKeyHex: string, day: number): number | undefined {
    const known = idOf(subnetID, publicKeyHex);
    if (known !== undefined || Number(statements.countAll.get()?.['count']) >= MAX_VALIDATORS) return known;
    return Number(statements.insert.get(idBytes(subnetID), parseHex(publicKeyHex, 'BLS key'), day)?.['id']);
  }

  function countsAt(span: Span, start: number, id: number): SigningCounts | undefined {
    const row = statements.get.get(SPANS[span], start, id);
    return row === undefined ? undefined : decodeCounts(row['counts'] as Uint8Array);
  }

  function startOf(row: ReturnType<typeof statements.lastStart.get>): number | undefined {
    const start = row?.['start'] ?? null;
    return start === null ? undefined : Number(start);
  }

  return {
    idOf: (subnetID, publicKeyHex) => read(() => idOf(subnetID, publicKeyHex)),
    add: (hour, added) =>
      write(() => {
        for (const { subnetID, publicKeyHex, counts } of added) {
          const id = findOrAdd(subnetID, publicKeyHex, dayOf(hour));
          if (id === undefined) continue;
          const sum = countsAt('hour', hour, id) ?? emptyCounts();
          addCounts(sum, counts);
          statements.put.run(SPANS.hour, hour, id, encodeCounts(sum));
        }
      }),
    rows: (span, start) =>
      read(() =>
        statements.ofSpan
          .all(SPANS[span], start)
          .map((row) => ({ id: Number(row['validator']), counts: decodeCounts(row['counts'] as Uint8Array) })),
      ),
    rowsOf: (id, span, from, to) =>
      read(() =>
        Array.from({ length: to - from + 1 }, (_, offset) => from + offset).flatMap((start) => {
          const counts = countsAt(span, start, id);
          return counts === undefined ? [] : [[start, counts] as const];
        }),
      ),
    addDay: (day, rows, lastDay) =>
      write(() => {
        for (const { id, counts } of rows) {
          statements.put.run(SPANS.day, day, id, encodeCounts(counts));
          statements.setLastDay.run(day, id);
        }
        statements.forget.run(lastDay);
      }),
    lastDay: () => read(() => startOf(statements.lastStart.get(SPANS.day))),
    firstHour: () => read(() => startOf(statements.firstStart.get(SPANS.hour))),
    prune: (firstHour, firstDay) =>
      write(() => {
        statements.prune.run(SPANS.hour, firstHour);
        statements.prune.run(SPANS.day, firstDay);
      }),
    [Symbol.dispose]: () => database.close(),
  };
}

const HOURS_PER_DAY = 24;

export function dayOf(hour: number): number {
  return Math.floor(hour / HOURS_PER_DAY);
}
