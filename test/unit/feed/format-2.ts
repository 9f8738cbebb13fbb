import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FILE_KIND } from '../../../src/feed/message-store.ts';
import { databasePath } from '../../../src/store/local/sqlite.ts';

const VECTORS = join(import.meta.dirname, '../../vectors/feed-format-2.json');

interface Format2 {
  readonly statements: readonly string[];
  /** Cursors of all messages: one of a chain with two unsigned messages, and one of 64 chains with 200. */
  readonly cursors: { readonly short: string; readonly long: string };
}

const format2 = JSON.parse(readFileSync(VECTORS, 'utf8')) as Format2;

export const CURSORS_OF_FORMAT_2 = format2.cursors;

/** Writes a store of network 1 as the version before change numbers did: of `CHAIN` 10.0 signed, 11.0 failed, 12.0 pending, of `OTHER_CHAIN` 10.0 pending. */
export function writeFormat2(directory: string): void {
  const database = new DatabaseSync(databasePath(FILE_KIND, { directory, networkID: 1 }));
  for (const statement of format2.statements) database.exec(statement);
  database.close();
}
