import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';

/** A SQLite file as JSON: its format, its tables, and their rows. */
export interface StoreFile {
  readonly format: number;
  readonly schema: readonly string[];
  readonly rows: Readonly<Record<string, readonly (readonly JsonValue[])[]>>;
}

/** A blob is an object. */
type JsonValue = string | number | null | { readonly hex: string };

/** @param omitted tables whose rows are random */
export function readStoreFile(path: string, omitted: readonly string[] = []): StoreFile {
  using database = new DatabaseSync(path, { readOnly: true });
  const parts = database.prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name').all();
  const tables = parts.flatMap(({ type, name }) => (type === 'table' ? [String(name)] : []));
  const rowsOf = (table: string) =>
    database
      .prepare(`SELECT * FROM ${table}`)
      .all()
      .map((row) => Object.values(row).map(toJson));
  return {
    format: Number(database.prepare('PRAGMA user_version').get()?.['user_version']),
    schema: parts.map(({ sql }) => String(sql).replaceAll(/\s+/g, ' ')),
    rows: Object.fromEntries(tables.map((table) => [table, omitted.includes(table) ? [] : rowsOf(table)])),
  };
}

export function writeStoreFile(path: string, { format, schema, rows }: StoreFile): void {
  using database = new DatabaseSync(path);
  // A table comes before its indexes.
  for (const sql of schema.toSorted(
    (a, b) => Number(b.startsWith('CREATE TABLE')) - Number(a.startsWith('CREATE TABLE')),
  )) {
    database.exec(sql);
  }
  for (const [table, values] of Object.entries(rows)) {
    for (const row of values) {
      database.prepare(`INSERT INTO ${table} VALUES (${row.map(() => '?').join()})`).run(...row.map(fromJson));
    }
  }
  database.exec(`PRAGMA user_version = ${format}`);
}

export const FORMATS = join(import.meta.dirname, '../../vectors/formats');

function toJson(value: SQLOutputValue): JsonValue {
  if (value instanceof Uint8Array) return { hex: Buffer.from(value).toString('hex') };
  return typeof value === 'bigint' ? Number(value) : value;
}

function fromJson(value: JsonValue): SQLInputValue {
  return value !== null && typeof value === 'object' ? parseHex(value.hex, 'blob') : value;
}
