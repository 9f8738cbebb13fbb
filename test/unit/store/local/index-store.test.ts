import { expect, test } from 'vitest';
import { openIndexStore } from '../../../../src/store/local/index-store.ts';
import { StoreError } from '../../../../src/store/local/sqlite.ts';
import { openValidationStore, type ValidationStoreOptions } from '../../../../src/store/local/validation-store.ts';
import { createLogLines } from '../../../support/log-lines.ts';

const FULL = Object.assign(new Error('database or disk is full'), { errcode: 13 });
const DAMAGED = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });

/** Opens a store whose file cannot be opened. */
async function openFailing(cause: Error) {
  await using opened = new AsyncDisposableStack();
  const log = createLogLines();
  const open = (options: ValidationStoreOptions) => {
    if (options.directory !== undefined) throw new StoreError('open', 'a', cause.message, { cause });
    return openValidationStore(options);
  };
  const { store, isStored } = openIndexStore(opened, { directory: '/full', networkID: 1, logger: log.logger }, open);
  return { isStored, position: await store.position(), lines: log.records() };
}

test('a full disk keeps the index in memory, with a line', async () => {
  expect(await openFailing(FULL)).toMatchObject({ isStored: false, lines: [{ level: 'error' }] });
});

test('a damaged file fails', async () => {
  await expect(openFailing(DAMAGED)).rejects.toThrow('malformed');
});
