import type { SharedStore } from './shared-store.ts';

/**
 * Values that replicas share, each under one key with a lifetime. Other programs may write or delete them, and the store may be away:
 * the promises do not reject, and take at most 200 ms.
 */
export interface SharedValues {
  /** Replaces any value. */
  set(key: string, value: Uint8Array, ttlMs: number): Promise<void>;
  /**
   * Compares and sets: writes if the value begins with the expected bytes, or if there is none; `undefined` expects none. A replacement
   * without a value deletes.
   *
   * @returns the value if it differs, cut to one byte more than `maxBytes`
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

const SET_SCRIPT = "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
/**
 * Empty values and values of another type count as none. Of another value one byte more than allowed is read, to detect longer ones,
 * which must not fill the memory.
 */
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

/** @param scope the prefix of the keys of one network */
export function createSharedValues(store: Pick<SharedStore, 'ask'>, scope: string): SharedValues {
  return {
    async set(key: string, value: Uint8Array, ttlMs: number): Promise<void> {
      await store.ask((redis) => redis.run(SET_SCRIPT, scope + key, [value, String(ttlMs)]));
    },
    async replace(key: string, expected: Uint8Array | undefined, replacement: Replacement): Promise<Replaced> {
      const { value = NOTHING, ttlMs, maxBytes } = replacement;
      const args = [expected ?? NOTHING, value, String(ttlMs), String(maxBytes)];
      const answer = await store.ask((redis) => redis.run(REPLACE_SCRIPT, scope + key, args));
      if (answer === undefined) return { kind: 'away' };
      return answer instanceof Uint8Array ? { kind: 'other', value: answer } : { kind: 'replaced' };
    },
  };
}

const NOTHING = new Uint8Array();
