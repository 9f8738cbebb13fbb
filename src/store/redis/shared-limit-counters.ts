import { randomUUID } from 'node:crypto';
import type { Backlog, LimitCounters } from '../local/limit-counters.ts';
import type { SharedStore } from './shared-store.ts';

/**
 * Takes from the backlog of a key, in nanoseconds: the key's time to live, less what the value says, which is the part of its last millisecond.
 * So the server's clock is the only one. A value without an end, or that is no number, is no backlog.
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

/** Returns nothing if the claim is granted, else how many milliseconds the other claim has left. */
const CLAIM_SCRIPT = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('PTTL', KEYS[1])`;

const GIVE_BACK_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Counts together with the other replicas. The replica's own counters count everything as well, and decide alone while the store
 * is away: then each replica grants as much as all of them together should, less what it has granted itself before.
 *
 * @param own those of this replica
 */
export function createSharedLimitCounters(store: SharedStore, own: LimitCounters): LimitCounters {
  return {
    async take(key, costNs, maxNs) {
      const alone = await own.take(key, costNs, maxNs);
      const args = [String(costNs), String(maxNs)];
      const together = await store.ask(async (redis) => readBacklog(await redis.run(TAKE_SCRIPT, key, args)));
      if (together === undefined) return alone;
      // A cost that all replicas together refuse is not this one's either.
      if (alone.isTaken && !together.isTaken) await own.take(key, -costNs, Number.MAX_SAFE_INTEGER);
      return together;
    },
    async claim(key, ttlMs) {
      const ownClaim = await own.claim(key, ttlMs);
      if (!ownClaim.isGranted) return ownClaim;
      // Chosen here and not by the store: a claim may have been made even if the store's answer did not come in time.
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
          await store.ask((redis) => redis.run(GIVE_BACK_SCRIPT, key, [id]));
        },
      };
    },
  };
}

/** @throws if this is not an answer of {@link TAKE_SCRIPT}: then the server cannot be counted with */
function readBacklog(reply: unknown): Backlog {
  const [isTaken, ns] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (typeof isTaken !== 'number' || typeof ns !== 'number') throw new Error('the answer is not one of the script');
  return { isTaken: isTaken === 1, ns };
}

/** Null if there is nothing to wait for. @throws as {@link readBacklog} */
function readLeftMs(reply: unknown): number | null {
  if (reply === null) return null;
  if (typeof reply !== 'number') throw new Error('the answer is not one of the script');
  return Math.max(0, reply);
}
