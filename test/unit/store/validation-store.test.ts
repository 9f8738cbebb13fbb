import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IndexBatch, type IndexPosition, type ValidationStore } from '../../../src/pchain/validation-index.ts';
import { openValidationStore } from '../../../src/store/validation-store.ts';
import { originOf, registration } from '../pchain/test-chain.ts';

const POSITION: IndexPosition = {
  checkpoints: [{ height: 2n ** 60n, id: 'top' }],
  low: { height: 1n, parentID: 'below', isFloor: false },
};

function batch(height: bigint, ...numbers: number[]): IndexBatch {
  return {
    position: { ...POSITION, checkpoints: [{ height, id: `block ${height}` }] },
    entries: [{ height, origins: numbers.map((number) => originOf(registration(number))) }],
  };
}

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'validation-store-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('in memory', () => {
  test('gives back what was put in, and its position', async () => {
    using database = openValidationStore({ directory: undefined, networkID: 1 });
    const store: ValidationStore = database;
    expect(await store.position()).toBeUndefined();
    await store.commit({ ...batch(5n, 1, 2), position: POSITION });
    expect(await store.position()).toEqual(POSITION);
    const { validationID, justification } = originOf(registration(2));
    expect(await store.originOf(validationID)).toEqual(justification);
    expect(await store.originOf(originOf(registration(3)).validationID)).toBeUndefined();
  });

  test('keeps both kinds of origin', async () => {
    using store = openValidationStore({ directory: undefined, networkID: 1 });
    const { validationID } = originOf(registration(1));
    const justification = { kind: 'SubnetIDIndex', subnetID: registration(1).subnetID, index: 4 } as const;
    await store.commit({ position: POSITION, entries: [{ height: 1n, origins: [{ validationID, justification }] }] });
    expect(await store.originOf(validationID)).toEqual(justification);
  });

  test('forgets the oldest beyond its bound', async () => {
    using store = openValidationStore({ directory: undefined, networkID: 1, maxOrigins: 3 });
    await store.commit(batch(20n, 1, 2));
    await store.commit(batch(10n, 3));
    await store.commit(batch(30n, 4));
    const found = await Promise.all(
      [1, 2, 3, 4].map(async (n) => (await store.originOf(originOf(registration(n)).validationID)) !== undefined),
    );
    expect(found).toEqual([true, true, false, true]);
  });
});

describe('in a file', () => {
  test('outlives the process, one file for each network', async () => {
    {
      using store = openValidationStore({ directory: join(directory, 'made', 'anew'), networkID: 5 });
      await store.commit(batch(7n, 1));
    }
    expect(readdirSync(join(directory, 'made', 'anew'))).toEqual(['l1-validations-5.sqlite']);
    using store = openValidationStore({ directory: join(directory, 'made', 'anew'), networkID: 5 });
    expect((await store.position())?.checkpoints).toEqual([{ height: 7n, id: 'block 7' }]);
    const { validationID, justification } = originOf(registration(1));
    expect(await store.originOf(validationID)).toEqual(justification);
    using other = openValidationStore({ directory: join(directory, 'made', 'anew'), networkID: 1 });
    expect(await other.position()).toBeUndefined();
  });

  test('a batch is there as a whole or not at all', async () => {
    using store = openValidationStore({ directory, networkID: 1 });
    await store.commit(batch(1n, 1));
    const broken = { validationID: 'no ID' as never, justification: originOf(registration(2)).justification };
    const second = batch(2n, 2);
    await expect(
      store.commit({ ...second, entries: [...second.entries, { height: 2n, origins: [broken] }] }),
    ).rejects.toThrow();
    expect((await store.position())?.checkpoints[0]?.height).toBe(1n);
    expect(await store.originOf(originOf(registration(2)).validationID)).toBeUndefined();
    await store.commit(second);
    expect(await store.originOf(originOf(registration(2)).validationID)).toBeDefined();
  });

  test('one of another format is refused with a sentence, and left as it is', () => {
    const path = join(directory, 'l1-validations-1.sqlite');
    const later = new DatabaseSync(path);
    later.exec('PRAGMA user_version = 9');
    later.close();
    expect(() => openValidationStore({ directory, networkID: 1 })).toThrow(
      `${path} has the format 9, this version reads 1: move it away to start anew`,
    );
  });
});
