import type { Metrics } from '../../telemetry/metrics.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { SharedStore } from './shared-store.ts';

/** Registers the caller, and returns the value in its way where there is another one than that in ARGV[4]. */
const REGISTER_SCRIPT = `
local holder = redis.call('GETRANGE', KEYS[1], 0, ARGV[3])
if #holder > 0 and holder ~= ARGV[1] and holder ~= ARGV[4] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`;

const LEAVE_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/** More than a replica writes: a longer value is not read as a whole. */
const MAX_HOLDER_BYTES = 512;
/** The form in which replicas register. */
const HOLDER = /^[\w-]{1,64} (?<description>[\x20-\x7e]{1,200})$/;

export interface IdentityRegistration extends AsyncDisposable {
  /** Who else is registered under our NodeID, in words for the log. Undefined where nobody is, or the store is away. */
  look(): Promise<string | undefined>;
}

export interface IdentityRegistrationOptions {
  readonly store: SharedStore;
  readonly nodeID: NodeID;
  /** Unlike that of any other process. */
  readonly replica: string;
  /** Who we are, in words for the log of the other. */
  readonly description: string;
  /** How long a registration lasts that nobody renews. */
  readonly lapsesMs: number;
  readonly metrics: Metrics;
}

/** Who uses a NodeID, in the store that replicas share: the first holds it, and those who come later are told. */
export function registerIdentity(options: IdentityRegistrationOptions): IdentityRegistration {
  const { store, nodeID, replica, description, lapsesMs, metrics } = options;
  const key = `identity:${nodeID}`;
  const own = `${replica} ${description}`;
  const ignored = metrics.counter({
    name: 'identity_registrations_ignored_total',
    help: 'Values in the place of the registration of our NodeID in the shared store that no replica has written; each was replaced',
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
      await store.ask((redis) => redis.run(LEAVE_SCRIPT, key, [own]));
    },
  };
}
