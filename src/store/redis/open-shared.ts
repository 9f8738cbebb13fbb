import type { SharedStore, SharedStoreOptions } from './shared-store.ts';

/** Store that replicas share, and the secret that seals records of requests. */
export interface OpenedSharedStore {
  readonly store: SharedStore;
  readonly secret: string | undefined;
}

/** Opens the store, which `opened` closes. Loads its client library only if configured: 0.1 s and 25 MB. */
export async function openShared(
  opened: AsyncDisposableStack,
  configured: (Pick<SharedStoreOptions, 'servers' | 'keyPrefix'> & Pick<OpenedSharedStore, 'secret'>) | undefined,
  ports: Pick<SharedStoreOptions, 'clock' | 'random' | 'logger' | 'metrics'>,
): Promise<OpenedSharedStore | undefined> {
  if (configured === undefined) return undefined;
  const { openSharedStore } = await import('./shared-store.ts');
  return { store: opened.use(openSharedStore({ ...configured, ...ports })), secret: configured.secret };
}
