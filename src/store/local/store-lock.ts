import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { primaryCodeOf, StoreError } from './sqlite.ts';

const FILE = 'lock.sqlite';
const BUSY = 5;

/**
 * Marks a store as used, until disposal or the end of the process, however it ends: the system releases SQLite's lock. Where the file
 * system has no locks, there is none.
 *
 * @param directory exists
 * @throws {StoreError} if another process uses the store
 */
export function lockStore(directory: string): Disposable {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(directory, FILE));
    // The journal of a new file would be a second one.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (cause) {
    database?.close();
    database = undefined;
    if (primaryCodeOf(cause) === BUSY) {
      throw new StoreError('open', directory, 'another process uses it; give each service its own store.path', {
        cause,
      });
    }
  }
  return { [Symbol.dispose]: () => database?.close() };
}
