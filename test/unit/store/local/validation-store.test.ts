import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreError } from '../../../../src/store/local/sqlite.ts';
import {
  type IndexBatch,
  type IndexPosition,
  openValidationStore,
  type ValidationStore,
} from '../../../../src/store/local/validation-store.ts';
import { settle } from '../../../support/fake-clock.ts';
import { originOf, registration } from '../../pchain/state/test-chain.ts';

const POSITION: IndexPosition = {
  top: { height: 2n ** 60n, id: 'top' },
  low: { height: 1n, parentID: 'below', isFloor: false },
};

function batch(height: bigint, ...numbers: number[]): IndexBatch {
  return {
    position: { ...POSITION, top: { height, id: `block ${height}` } },
    entries: [{ height, origins: numbers.map(numbered) }],
  };
}

const numbered = (number: number) => originOf(registration(number));

async function has(store: ValidationStore, number: number): Promise<boolean> {
  return (await store.originOf(numbered(number).validationID)) !== undefined;
}

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'validation-store-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('in memory', () => {
  test('returns committed origins and the position', async () => {
    using store = openValidationStore({ directory: undefined, networkID: 1 });
    expect(await store.position()).toBeUndefined();
    await store.commit({ ...batch(5n, 1, 2), position: POSITION });
    expect(await store.position()).toEqual(POSITION);
    const { validationID, justification } = numbered(2);
    expect(await store.originOf(validationID)).toEqual(justification);
    expect(await has(store, 3)).toBe(false);
  });

  test('drops the oldest entries above its limit', async () => {
    using store = openValidationStore({ directory: undefined, networkID: 1, maxOrigins: 3 });
    await store.commit(batch(20n, 1, 2));
    await store.commit(batch(10n, 3));
    await store.commit(batch(30n, 4));
    expect(await Promise.all([1, 2, 3, 4].map((number) => has(store, number)))).toEqual([true, true, false, true]);
  });
});

describe('in a file', () => {
  test('outlives the process, one file for each network', async () => {
    const folder = join(directory, 'new', 'folder');
    {
      using store = openValidationStore({ directory: folder, networkID: 5 });
      await store.commit(batch(7n, 1));
    }
    expect(readdirSync(folder)).toEqual(['l1-validations-5.sqlite']);
    using store = openValidationStore({ directory: folder, networkID: 5 });
    expect((await store.position())?.top).toEqual({ height: 7n, id: 'block 7' });
    expect(await has(store, 1)).toBe(true);
    using other = openValidationStore({ directory: folder, networkID: 1 });
    expect(await other.position()).toBeUndefined();
  });

  test('a large batch yields to the event loop between transactions, and the last one moves the position', async () => {
    const turns: (() => void)[] = [];
    const clock = { afterTurn: (callback: () => void) => void turns.push(callback) };
    const numbers = Array.from({ length: 300 }, (_, number) => number);
    using store = openValidationStore({ directory, networkID: 1, clock });
    using reader = openValidationStore({ directory, networkID: 1 });
    using other = new DatabaseSync(join(directory, 'l1-validations-1.sqlite'));
    async function expectTwoYields(): Promise<void> {
      for (let turn = 1; turn <= 2; turn += 1) {
        await settle();
        expect(turns).toHaveLength(1);
        expect([await has(reader, 0), await has(reader, 299), await reader.position()]).toEqual([
          true,
          false,
          undefined,
        ]);
        // No transaction is open, so another connection may begin one.
        other.exec('BEGIN IMMEDIATE; ROLLBACK');
        turns.pop()?.();
      }
    }

    const { position, entries } = batch(2n, ...numbers);
    await Promise.all([store.commit({ position, entries }), expectTwoYields()]);
    expect(turns).toEqual([]);
    expect([await reader.position(), await has(reader, 299)]).toEqual([position, true]);
  });

  test('a batch that fails leaves the position, and origins that prove themselves', async () => {
    using store = openValidationStore({ directory, networkID: 1 });
    const { position, entries } = batch(2n, ...Array.from({ length: 130 }, (_, number) => number));
    const broken = { validationID: 'no ID' as never, justification: numbered(131).justification };
    const failing = store.commit({ position, entries: [...entries, { height: 2n, origins: [broken] }] });
    await expect(failing).rejects.toThrow(StoreError);
    expect([await store.position(), await has(store, 0), await has(store, 129)]).toEqual([undefined, true, false]);
    await store.commit({ position, entries });
    expect([await store.position(), await has(store, 129)]).toEqual([position, true]);
  });

  test('a file of another format is rejected', () => {
    const path = join(directory, 'l1-validations-1.sqlite');
    const later = new DatabaseSync(path);
    later.exec('PRAGMA user_version = 9');
    later.close();
    const reason = 'it has format 9, and this version reads format 2; move it away to start with an empty one';
    expect(() => openValidationStore({ directory, networkID: 1 })).toThrow(new StoreError('open', path, reason));
  });

  test('private networks with the same ID have different files; a public one has one by its ID', () => {
    const local = { directory, networkID: 12_345 };
    const names = [{}, { name: 'one' }, { name: 'a/b' }, { networkID: 5, name: 'fuji' }];
    for (const options of names) openValidationStore({ ...local, ...options })[Symbol.dispose]();
    expect(readdirSync(directory).toSorted()).toEqual([
      'l1-validations-12345-a%2Fb.sqlite',
      'l1-validations-12345-one.sqlite',
      'l1-validations-12345.sqlite',
      'l1-validations-5.sqlite',
    ]);
  });
});

describe('file errors', () => {
  const FILE = 'l1-validations-1.sqlite';

  test('a damaged position', () => {
    openValidationStore({ directory, networkID: 1 })[Symbol.dispose]();
    const database = new DatabaseSync(join(directory, FILE));
    database.exec("INSERT INTO position VALUES (1, '{')");
    database.close();
    const message = `cannot open the store at ${join(directory, FILE)}: `;
    expect(() => openValidationStore({ directory, networkID: 1 })).toThrow(message);
  });

  test('a commit fails while another process holds the file, and succeeds afterwards', async () => {
    using store = openValidationStore({ directory, networkID: 1 });
    const other = new DatabaseSync(join(directory, FILE));
    other.exec('BEGIN IMMEDIATE');
    await expect(store.commit(batch(1n, 1))).rejects.toThrow(
      `cannot write the store at ${join(directory, FILE)}: database is locked (another process holds it; each service`,
    );
    other.exec('ROLLBACK');
    other.close();
    await store.commit(batch(1n, 1));
    expect(await has(store, 1)).toBe(true);
  });

  test('a full disk fails the batch and keeps the committed data', () => {
    const script = `
      import { readFileSync, truncateSync } from 'node:fs';
      const { openValidationStore } = await import('./src/store/local/validation-store.ts');
      const { originOf, registration } = await import('./test/unit/pchain/state/test-chain.ts');
      const store = openValidationStore({ directory: process.argv[1], networkID: 1 });
      const position = (height) => ({ top: { height, id: 'x' }, low: { height: 1n, parentID: 'y', isFloor: false } });
      const origin = (number) => originOf(registration(number));
      await store.commit({ position: position(1n), entries: [{ height: 1n, origins: [origin(1)] }] });
      const entries = Array.from({ length: 500 }, (_, number) => ({ height: 2n, origins: [origin(number)] }));
      const messages = [];
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await store.commit({ position: position(2n), entries }).catch((error) => messages.push(error.message));
      }
      const { top } = await store.position();
      console.log(JSON.stringify({ messages, height: String(top.height), found: (await store.originOf(origin(1).validationID)) !== undefined }));
    `;
    // Limits the size of files, in units of 512 or 1,024 bytes, like a full disk does.
    const limited = 'trap "" XFSZ; ulimit -f 100; exec "$0" "$@"';
    const args = ['-c', limited, process.execPath, '--input-type=module', '-e', script, directory];
    const { stdout, stderr } = spawnSync('bash', args, {
      cwd: join(import.meta.dirname, '../../../..'),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const expected = `cannot write the store at ${join(directory, FILE)}: `;
    expect(JSON.parse(stdout)).toEqual({
      messages: [expect.stringContaining(expected), expect.stringContaining(expected)],
      height: '1',
      found: true,
    });
    expect(stdout).not.toContain('rollback');
  });
});
