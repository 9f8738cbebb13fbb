import { randomUUID } from 'node:crypto';
import type { LimitCounters, Usage } from './limit-counters.ts';
import type { SharedStore } from './shared-store.ts';

/** Adds, and lets the first addition set the end of the window. Returns what was used, and the milliseconds left. */
const ADD_SCRIPT = `
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {used, left}`;

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
    async add(key, cost, windowMs) {
      const alone = await own.add(key, cost, windowMs);
      const args = [String(cost), String(windowMs)];
      const together = await store.ask(async (redis) => readUsage(await redis.run(ADD_SCRIPT, key, args)));
      return together ?? alone;
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

/** @throws if this is not an answer of {@link ADD_SCRIPT}: then the server cannot be counted with */
function readUsage(reply: unknown): Usage {
  const [used, leftMs] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (typeof used !== 'number' || typeof leftMs !== 'number') throw new Error('the answer is not one of the script');
  return { used, leftMs };
}

/** Null if there is nothing to wait for. @throws as {@link readUsage} */
function readLeftMs(reply: unknown): number | null {
  if (reply === null) return null;
  if (typeof reply !== 'number') throw new Error('the answer is not one of the script');
  return Math.max(0, reply);
}
