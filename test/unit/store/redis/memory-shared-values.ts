import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import type { SharedValues } from '../../../../src/store/redis/shared-values.ts';

/** Shared values in memory, which a test may change or take away. */
export interface MemorySharedValues extends SharedValues {
  readonly entries: Map<string, { value: Uint8Array; readonly endsMs: number }>;
  isAway: boolean;
}

export function createMemorySharedValues(clock: Clock): MemorySharedValues {
  const entries: MemorySharedValues['entries'] = new Map();
  const find = (key: string): Uint8Array | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && entry.endsMs > clock.monotonicMs() ? entry.value : undefined;
  };
  const write = (key: string, value: Uint8Array, ttlMs: number): void =>
    void entries.set(key, { value, endsMs: clock.monotonicMs() + ttlMs });
  const values: MemorySharedValues = {
    entries,
    isAway: false,
    async get(key, maxBytes) {
      const value = values.isAway ? undefined : find(key);
      return value !== undefined && value.length > 0 && value.length <= maxBytes ? value : undefined;
    },
    async set(key, value, ttlMs) {
      if (!values.isAway) write(key, value, ttlMs);
    },
    async delete(key) {
      if (!values.isAway) entries.delete(key);
    },
    async replace(key, expected, { value, ttlMs, maxBytes }) {
      if (values.isAway) return { kind: 'away' };
      const there = find(key) ?? new Uint8Array();
      const isExpected =
        expected !== undefined &&
        expected.length > 0 &&
        Buffer.compare(there.subarray(0, expected.length), expected) === 0;
      if (there.length > 0 && !isExpected) return { kind: 'other', value: there.subarray(0, maxBytes + 1) };
      if (value === undefined) entries.delete(key);
      else write(key, value, ttlMs);
      return { kind: 'replaced' };
    },
  };
  return values;
}
