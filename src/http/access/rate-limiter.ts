import type { Backlog, LimitCounters } from '../../store/local/limit-counters.ts';
import { siteOf } from '../request/client-identity.ts';

export interface Charge {
  readonly units: number;
  /** The client's units in a minute: its burst and its refill. */
  readonly unitsPerMinute: number;
  /** Units of the whole request, including these; a retry needs this many. At most `unitsPerMinute`. */
  readonly total: number;
}

export interface Allowance {
  readonly remaining: number;
  /** Until the client has all units of a minute again. */
  readonly resetMs: number;
  /** Undefined if the units were taken. */
  readonly refusal: { readonly text: string; readonly retryAfterMs: number } | undefined;
}

const MINUTE_NS = 60e9;
/** Limit of an IPv6 /48, in limits of one client: a site has one /48, whose 65,536 /64s must count no more than eight IPv4 addresses. */
export const CLIENTS_PER_SITE = 8;

/**
 * Limits clients by GCRA (ITU-T I.371): a client may use the units of a minute at once, and gets them back evenly. In t minutes it gets
 * at most (1 + t) × its units per minute. Refused units are not taken.
 *
 * @param when `afterwards` takes units even if the client has too few left, for work that is done: they are missing for its next requests
 */
export async function takeUnits(
  counters: LimitCounters,
  clientID: string,
  charge: Charge,
  when: 'before' | 'afterwards' = 'before',
): Promise<Allowance> {
  const maxNs = when === 'before' ? MINUTE_NS : Number.MAX_SAFE_INTEGER;
  const key = `rate:${clientID}`;
  const costNs = costOf(charge.units, charge.unitsPerMinute);
  const own = await counters.take(key, costNs, maxNs);
  const network = siteOf(clientID);
  if (network === undefined) return allowanceOf(charge, own, undefined);
  const siteCostNs = own.isTaken ? costOf(charge.units, charge.unitsPerMinute * CLIENTS_PER_SITE) : 0;
  const site = { network, ...(await counters.take(`rate:site:${network}`, siteCostNs, maxNs)) };
  if (site.isTaken || !own.isTaken) return allowanceOf(charge, own, site);
  const before = await counters.take(key, -costNs, Number.MAX_SAFE_INTEGER);
  return allowanceOf(charge, before, site);
}

interface Site extends Backlog {
  readonly network: string;
}

/** Rounded down, so that a minute has room for all of its units. */
function costOf(units: number, unitsPerMinute: number): number {
  return Math.floor((units * MINUTE_NS) / unitsPerMinute);
}

function allowanceOf({ total, unitsPerMinute }: Charge, own: Backlog, site: Site | undefined): Allowance {
  const limits = [{ ns: own.ns, unitsPerMinute }];
  if (site !== undefined) limits.push({ ns: site.ns, unitsPerMinute: CLIENTS_PER_SITE * unitsPerMinute });
  const remaining = limits.map((limit) => Math.floor(((MINUTE_NS - limit.ns) * limit.unitsPerMinute) / MINUTE_NS));
  const waitNs = (units: number): number =>
    Math.max(0, ...limits.map((limit) => limit.ns + costOf(units, limit.unitsPerMinute) - MINUTE_NS));
  const isOfSite = own.isTaken && site?.isTaken === false;
  const text = isOfSite
    ? `more than ${CLIENTS_PER_SITE * unitsPerMinute} units in a minute of all clients in ${site.network}`
    : `more than ${unitsPerMinute} units in a minute`;
  return {
    remaining: Math.max(0, Math.min(...remaining)),
    resetMs: waitNs(unitsPerMinute) / 1e6,
    refusal: own.isTaken && !isOfSite ? undefined : { text, retryAfterMs: waitNs(total) / 1e6 },
  };
}
