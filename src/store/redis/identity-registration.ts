import type { Metrics } from '../../telemetry/metrics.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { SharedStore } from './shared-store.ts';

/** Registers the caller, unless another value than ARGV[4] is there, which is returned. */
const REGISTER_SCRIPT = `
local holder = redis.call('GETRANGE', KEYS[1], 0, ARGV[3])
if #holder > 0 and holder ~= ARGV[1] and holder ~= ARGV[4] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`;

const UNREGISTER_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/** Replicas write less; longer values are cut. */
const MAX_HOLDER_BYTES = 512;
/** The form of registrations. */
const HOLDER = /^[\w-]{1,64} (?<description>[\x20-\x7e]{1,200})$/;

export interface IdentityRegistration extends AsyncDisposable {
  /** Describes another replica registered under our NodeID; undefined if there is none, or the store is away. */
  look(): Promise<string | undefined>;
}

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
export function registerIdentity(options: IdentityRegistrationOptions): IdentityRegistration {
  const { store, nodeID, replica, description, lapsesMs, metrics } = options;
  const key = `identity:${nodeID}`;
  const own = `${replica} ${description}`;
  const ignored = metrics.counter({
    name: 'identity_registrations_ignored_total',
    help: 'Invalid registrations of our NodeID in the shared store; each was replaced',
  });

  async function register(replaced: Uint8Array | string = ''): Promise<Uint8Array | undefined> {
    const args = [own, String(lapsesMs), String(MAX_HOLDER_BYTES), replaced];
    const answer = await store.ask((redis) => redis.run(REGISTER_SCRIPT, key, args));
    return answer instanceof Uint8Array ? answer : undefined;
  }

  return {
    async look() {
      const holder = await register();
      if (holder === undefined) return undefined;
      const other = HOLDER.exec(Buffer.from(holder).toString())?.groups?.['description'];
      if (other === undefined) {
        ignored.inc();
        await register(holder);
      }
      return other;
    },
    async [Symbol.asyncDispose]() {
      await store.ask((redis) => redis.run(UNREGISTER_SCRIPT, key, [own]));
    },
  };
}
