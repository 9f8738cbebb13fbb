import type { NodeID } from '../primitives/ids.ts';
import type { SharedStore } from './shared-store.ts';

/** Registers the caller where nobody else is registered; returns the other where one is. */
const REGISTER_SCRIPT = `
local holder = redis.call('GETRANGE', KEYS[1], 0, ARGV[3])
if #holder > 0 and holder ~= ARGV[1] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`;

const LEAVE_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/** More than any of us puts there: whoever writes there cannot fill our memory. */
const MAX_HOLDER_BYTES = 512;
/** What we put there ourselves; others are not believed to have put nothing else there. */
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
}

/** Who uses a NodeID, in the store that replicas share: the first holds it, and those who come later are told. */
export function registerIdentity(options: IdentityRegistrationOptions): IdentityRegistration {
  const { store, nodeID, replica, description, lapsesMs } = options;
  const key = `identity:${nodeID}`;
  const own = `${replica} ${description}`;
  return {
    async look() {
      const args = [own, String(lapsesMs), String(MAX_HOLDER_BYTES)];
      const answer = await store.ask((redis) => redis.run(REGISTER_SCRIPT, key, args));
      if (!(answer instanceof Uint8Array)) return undefined;
      return HOLDER.exec(Buffer.from(answer).toString())?.groups?.['description'] ?? 'another one';
    },
    async [Symbol.asyncDispose]() {
      await store.ask((redis) => redis.run(LEAVE_SCRIPT, key, [own]));
    },
  };
}
