import { randomUUID } from 'node:crypto';
import type { LimitCounters, Usage } from './limit-counters.ts';
import type { SharedStore } from './shared-store.ts';

/** Adds, and sets the end of the window with the first. Returns what was used, and the milliseconds left. */
const ADD_SCRIPT = `
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {used, left}`;

/** Returns nothing where the claim is granted, else the milliseconds left of the other's. */
const CLAIM_SCRIPT = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('PTTL', KEYS[1])`;

const GIVE_BACK_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Counts together with the other replicas. The replica's own counters count along, and decide alone while the store is away:
 * then each replica grants what all of them together should, less what it has itself granted before.
 *
 * @param own those of this replica
 */
export function createSharedLimitCounters(store: SharedStore, own: LimitCounters): LimitCounters {
  return {
    async add(key, cost, windowMs) {
      const alone = await own.add(key, cost, windowMs);
      const options = { keys: [key], arguments: [String(cost), String(windowMs)] };
      const together = await store.ask(async (redis) => readUsage(await redis.eval(ADD_SCRIPT, options)));
      return together ?? alone;
    },
    async claim(key, ttlMs) {
      const ownClaim = await own.claim(key, ttlMs);
      if (!ownClaim.isGranted) return ownClaim;
      // Known before it is made: where the store did not answer in time, it may be made all the same.
      const id = randomUUID();
      const options = { keys: [key], arguments: [id, String(ttlMs)] };
      const leftMs = await store.ask(async (redis) => readLeftMs(await redis.eval(CLAIM_SCRIPT, options)));
      if (typeof leftMs === 'number') {
        await ownClaim.giveBack();
        return { isGranted: false, leftMs };
      }
      return {
        isGranted: true,
        async giveBack() {
          await ownClaim.giveBack();
          await store.ask((redis) => redis.eval(GIVE_BACK_SCRIPT, { keys: [key], arguments: [id] }));
        },
      };
    },
  };
}

/** @throws on an answer that is none of {@link ADD_SCRIPT}: what gives it is no store to count with */
function readUsage(reply: unknown): Usage {
  const [used, leftMs] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (typeof used !== 'number' || typeof leftMs !== 'number')
    throw new Error('the script was not answered by its result');
  return { used, leftMs };
}

/** Null where there is nothing to wait for. @throws as {@link readUsage} */
function readLeftMs(reply: unknown): number | null {
  if (reply === null) return null;
  if (typeof reply !== 'number') throw new Error('the script was not answered by its result');
  return Math.max(0, reply);
}
