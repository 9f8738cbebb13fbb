import type { Metrics } from '../../telemetry/metrics.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { SharedStore } from './shared-store.ts';
import { createSharedValues } from './shared-values.ts';

/** Replicas write less; longer values are cut. */
const MAX_HOLDER_BYTES = 512;
/** The form of registrations. */
const HOLDER = /^[\w-]{1,64} (?<description>[\x20-\x7e]{1,200})$/;

export interface IdentityRegistrationOptions {
  readonly store: SharedStore;
  readonly nodeID: NodeID;
  /** Unique among processes. */
  readonly replica: string;
  /** Describes this replica in the log of another. */
  readonly description: string;
  /** Lifetime of a registration without renewal. */
  readonly lapsesMs: number;
  readonly metrics: Metrics;
}

/** Registers this replica under its NodeID in the shared store, to detect a second user of the identity. */
export function registerIdentity(options: IdentityRegistrationOptions) {
  const { store, nodeID, replica, description, lapsesMs, metrics } = options;
  // Without a scope, because an identity is the same in all networks.
  const values = createSharedValues(store, '');
  const key = `identity:${nodeID}`;
  const own = Buffer.from(`${replica} ${description}`);
  const limits = { ttlMs: lapsesMs, maxBytes: MAX_HOLDER_BYTES };
  const ignored = metrics.counter({
    name: 'identity_registrations_ignored_total',
    help: 'Invalid registrations of our NodeID in the shared store; each was replaced',
  });

  async function register(replaced: Uint8Array): Promise<Uint8Array | undefined> {
    const found = await values.replace(key, replaced, { ...limits, value: own });
    return found.kind === 'other' ? found.value : undefined;
  }

  return {
    /** Describes another replica registered under our NodeID; undefined if there is none, or the store is away. */
    async look(): Promise<string | undefined> {
      const holder = await register(own);
      if (holder === undefined) return undefined;
      const other = HOLDER.exec(Buffer.from(holder).toString())?.groups?.['description'];
      if (other === undefined) {
        ignored.inc();
        await register(holder);
      }
      return other;
    },
    async [Symbol.asyncDispose]() {
      await values.replace(key, own, { ...limits, value: undefined });
    },
  };
}
