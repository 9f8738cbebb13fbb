import type { Logger } from '../../telemetry/logger.ts';
import { StoreError } from './sqlite.ts';
import { openValidationStore, type ValidationStore, type ValidationStoreOptions } from './validation-store.ts';

export interface IndexStoreOptions extends ValidationStoreOptions {
  readonly logger: Pick<Logger, 'error'>;
}

/**
 * Opens the store of the index of L1 validations. A full disk does not stop the network: the index is then in memory until the next start.
 *
 * @throws {StoreError} for any other reason
 */
export function openIndexStore(
  opened: AsyncDisposableStack,
  { logger, ...options }: IndexStoreOptions,
  open = openValidationStore,
): { readonly store: ValidationStore; readonly isStored: boolean } {
  try {
    return { store: opened.use(open(options)), isStored: options.directory !== undefined };
  } catch (error) {
    if (!(error instanceof StoreError && error.isFull)) throw error;
    logger.error(
      { err: error },
      'the index of L1 validations is in memory until the next start, because the disk is full',
    );
    return { store: opened.use(open({ ...options, directory: undefined })), isStored: false };
  }
}
