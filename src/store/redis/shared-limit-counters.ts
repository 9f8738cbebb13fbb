import { randomUUID } from 'node:crypto';
import type { Backlog, LimitCounters } from '../local/limit-counters.ts';
import type { SharedStore } from './shared-store.ts';

/**
 * Adds to the backlog of a key. The backlog in nanoseconds is the key's time to live less its value, which is the unused part of the
 * last millisecond: only the server's clock counts. A value without a time to live, or that is no number, counts as empty.
 */
const TAKE_SCRIPT = `
local left = redis.call('PTTL', KEYS[1])
local part = tonumber(redis.call('GET', KEYS[1]) or '')
local before = 0
if left > 0 and part and part >= 0 then before = math.max(0, left * 1000000 - part) end
local backlog = math.max(0, before + tonumber(ARGV[1]))
if backlog > tonumber(ARGV[2]) then return {0, before} end
local ms = math.max(1, math.ceil(backlog / 1000000))
redis.call('SET', KEYS[1], ms * 1000000 - backlog, 'PX', ms)
return {1, backlog}`;

/** Returns nothing if the claim is granted, else the remaining milliseconds of the other claim. */
const CLAIM_SCRIPT = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('PTTL', KEYS[1])`;

const RELEASE_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Counts for all replicas together. The local counters count everything too, and decide alone while the store is away: each replica then
 * grants up to the whole limit, less what it has granted itself.
 *
 * @param own the counters of this replica
 */
export function createSharedLimitCounters(store: SharedStore, own: LimitCounters): LimitCounters {
  return {
    async take(key, costNs, maxNs) {
      const alone = await own.take(key, costNs, maxNs);
      const args = [String(costNs), String(maxNs)];
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
