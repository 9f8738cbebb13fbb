import type { SharedStore } from './shared-store.ts';

/**
 * Values that replicas share, each under one key and for a while. A port. Anybody may have written or deleted them, the store may
 * forget them, and it may be away at any time: its promises do not reject, and take no longer than 200 ms.
 */
export interface SharedValues {
  /** Undefined where there is none, where it is longer than `maxBytes`, and where the store is away. */
  get(key: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Replaces whatever is there. */
  set(key: string, value: Uint8Array, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
  /**
   * Writes in one step where the value begins with these bytes, or where there is none; with `undefined` only where there is none.
   * No value deletes it.
   *
   * @returns the value that is in the way, cut to one byte more than `maxBytes`
   */
  replace(key: string, expected: Uint8Array | undefined, replacement: Replacement): Promise<Replaced>;
}

export interface Replacement {
  readonly value: Uint8Array | undefined;
  readonly ttlMs: number;
  readonly maxBytes: number;
}

export type Replaced =
  | { readonly kind: 'replaced' }
  | { readonly kind: 'other'; readonly value: Uint8Array }
  | { readonly kind: 'away' };

/** One byte too many is enough to know that it is too long: whoever writes there cannot fill our memory. */
const GET_SCRIPT = "return redis.call('GETRANGE', KEYS[1], 0, ARGV[1])";
const SET_SCRIPT = "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
const DELETE_SCRIPT = "redis.call('DEL', KEYS[1]) return 1";
/** An empty value, and another kind of value, are as good as none here: they are replaced. */
const REPLACE_SCRIPT = `
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'string' and redis.call('STRLEN', KEYS[1]) > 0 then
  local is_ours = ARGV[1] ~= '' and redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) == ARGV[1]
  if not is_ours then return redis.call('GETRANGE', KEYS[1], 0, ARGV[4]) end
end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
return 1`;

/** @param scope put before each key, for values that only some of the replicas' networks have in common */
export function createSharedValues(store: SharedStore, scope: string): SharedValues {
  return {
    async get(key, maxBytes) {
      const value = await store.ask((redis) => redis.run(GET_SCRIPT, scope + key, [String(maxBytes)]));
      return value instanceof Uint8Array && value.length > 0 && value.length <= maxBytes ? value : undefined;
    },
    async set(key, value, ttlMs) {
      await store.ask((redis) => redis.run(SET_SCRIPT, scope + key, [value, String(ttlMs)]));
    },
    async delete(key) {
      await store.ask((redis) => redis.run(DELETE_SCRIPT, scope + key, []));
    },
    async replace(key, expected = NOTHING, { value = NOTHING, ttlMs, maxBytes }) {
      const args = [expected, value, String(ttlMs), String(maxBytes)];
      const answer = await store.ask((redis) => redis.run(REPLACE_SCRIPT, scope + key, args));
      if (answer === undefined) return { kind: 'away' };
      return answer instanceof Uint8Array ? { kind: 'other', value: answer } : { kind: 'replaced' };
    },
  };
}

const NOTHING = new Uint8Array();
