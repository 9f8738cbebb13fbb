import { randomUUID } from 'node:crypto';
import type { Backlog, LimitCounters } from '../local/limit-counters.ts';
import type { SharedStore } from './shared-store.ts';

/**
 * Adds to the backlog of a key. The backlog in nanoseconds is the key's time to live less its value, which is the unused part of the
 * last millisecond: only the server's clock counts. A value without a time to live, or that is no number, counts as empty. A backlog above the
 * third argument is cut, because another writer could set any.
 */
const TAKE_SCRIPT = `
local left = redis.call('PTTL', KEYS[1])
local part = tonumber(redis.call('GET', KEYS[1]) or '')
local before = 0
if left > 0 and part and part >= 0 then before = math.max(0, left * 1000000 - part) end
local kept = math.min(before, tonumber(ARGV[3]))
local backlog = math.max(0, kept + tonumber(ARGV[1]))
local taken = 0
local changed = 0
if kept < before then changed = 1 end
if backlog <= tonumber(ARGV[2]) then
taken = 1
changed = 1
kept = backlog
end
if changed == 1 then
local ms = math.max(1, math.ceil(kept / 1000000))
redis.call('SET', KEYS[1], ms * 1000000 - kept, 'PX', ms)
end
return {taken, kept}`;

/** Returns nothing if the claim is granted, else the remaining milliseconds of the other claim, which ends no later than a new one would. */
const CLAIM_SCRIPT = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[2]) then return left end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(ARGV[2])`;

const RELEASE_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Counts for all replicas together. The local counters count everything too, and decide alone while the store is away: each replica then
 * grants up to the whole limit, less what it has granted itself. Of a backlog in the store above the maximum, only what this replica counted
 * itself is believed, so that a writer to Redis cannot have a client refused for years.
 *
 * @param own the counters of this replica
 */
export function createSharedLimitCounters(store: SharedStore, own: LimitCounters): LimitCounters {
  return {
    async take(key, costNs, maxNs) {
      const alone = await own.take(key, costNs, maxNs);
      // Only work that this replica charged after it was done makes a backlog longer, and this replica has counted it.
      const aloneBefore = alone.isTaken ? alone.ns - costNs : alone.ns;
      const args = [costNs, maxNs, Math.max(maxNs, aloneBefore)].map(String);
      const together = await store.ask(async (redis) => readBacklog(await redis.run(TAKE_SCRIPT, key, args)));
      if (together === undefined) return alone;
      // A cost that the shared counter rejects is taken back locally.
      if (alone.isTaken && !together.isTaken) await own.take(key, -costNs, Number.MAX_SAFE_INTEGER);
      return together;
    },
    async claim(key, ttlMs) {
      const ownClaim = await own.claim(key, ttlMs);
      if (!ownClaim.isGranted) return ownClaim;
      // Chosen locally: a claim may exist even if the store's answer was late.
      const id = randomUUID();
      const leftMs = await store.ask(async (redis) =>
        readLeftMs(await redis.run(CLAIM_SCRIPT, key, [id, String(ttlMs)])),
      );
      if (typeof leftMs === 'number') {
        await ownClaim.giveBack();
        return { isGranted: false, leftMs };
      }
      return {
        isGranted: true,
        async giveBack() {
          await ownClaim.giveBack();
          await store.ask((redis) => redis.run(RELEASE_SCRIPT, key, [id]));
        },
      };
    },
  };
}

/** @throws if this is no answer of {@link TAKE_SCRIPT} */
function readBacklog(reply: unknown): Backlog {
  const [isTaken, ns] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (typeof isTaken !== 'number' || typeof ns !== 'number') throw new Error('unexpected answer of the script');
  return { isTaken: isTaken === 1, ns };
}

/** Returns null for a granted claim. @throws if this is no answer of {@link CLAIM_SCRIPT} */
function readLeftMs(reply: unknown): number | null {
  if (reply === null) return null;
  if (typeof reply !== 'number') throw new Error('unexpected answer of the script');
  return Math.max(0, reply);
}
