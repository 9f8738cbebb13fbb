import { createHash, timingSafeEqual } from 'node:crypto';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import type { LimitCounters } from '../store/limit-counters.ts';
import { BadRequest, Forbidden, TooManyRequests, Unauthorized } from './error-handler.ts';
import type { Server } from './http-server.ts';

/** What a key may be allowed to use. */
const ROUTE_GROUPS = ['aggregation', 'data', 'rpc'] as const;
export type RouteGroup = (typeof ROUTE_GROUPS)[number];

export interface ApiKey {
  /** In metrics, and in the counters that replicas share; says nothing of the key. */
  readonly name: string;
  /** SHA-256 of the key. */
  readonly sha256: Uint8Array;
  readonly unitsPerMinute: number;
  readonly routes: readonly RouteGroup[];
}

export interface AccessOptions {
  /** Where there are none, keys of clients are not looked at: they may be meant for the API this service stands in for. */
  readonly apiKeys: readonly ApiKey[];
  /** For each client address that has no key; undefined where nothing is limited, keys included. */
  readonly unitsPerMinute: number | undefined;
  /** Addresses or CIDR blocks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly limits: LimitCounters;
}

/**
 * What one request costs of a client's units: an aggregation asks a thousand validators and makes a pairing check, a call of
 * the node, each of a batch, takes its one lock. Operations are free: probes and scrapes must not fail for coming often.
 */
const COSTS: Readonly<Record<RouteGroup, number>> = { aggregation: 10, data: 1, rpc: 2 };
const WINDOW_MS = 60_000;
/** The second is the first by its other name; an empty one counts as none. */
const KEY_HEADERS = ['x-service-api-key', 'x-glacier-api-key'] as const;
/** Longer ones are no keys of ours, and would only cost hashing. */
const MAX_KEY_LENGTH = 512;

declare module 'fastify' {
  interface FastifyRequest {
    apiKey: ApiKey | undefined;
  }
}

/**
 * Takes the units of a JSON-RPC batch beyond those of one call, which were taken when the request came in.
 *
 * @throws {TooManyRequests} or {BadRequest} where a minute has not as many units
 */
export type ChargeCalls = (request: FastifyRequest, reply: FastifyReply, calls: number) => Promise<void>;

/** Keys and rate limits of all routes that are registered after it. */
export async function registerAccess(server: Server, options: AccessOptions, registry: Registry): Promise<ChargeCalls> {
  const unitsOf = ({ apiKey }: FastifyRequest): number | undefined =>
    options.unitsPerMinute === undefined ? undefined : (apiKey?.unitsPerMinute ?? options.unitsPerMinute);
  const limit = await createLimit(server, options.limits, unitsOf);
  const counted = declareUnits(registry);

  async function charge(group: RouteGroup, units: number, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    counted.inc({ key: request.apiKey?.name ?? '', routes: group }, units);
    await limit(units, request, reply);
  }

  server.decorateRequest('apiKey', undefined);
  server.addHook('onRequest', async (request, reply) => {
    const group = groupOf(request);
    if (group === 'operations') return;
    const given = KEY_HEADERS.map((name) => request.headers[name]).find((text) => text !== undefined && text !== '');
    const isChecked = options.apiKeys.length > 0 && given !== undefined;
    request.apiKey = isChecked && typeof given === 'string' ? findKey(options.apiKeys, given) : undefined;
    // First: trying keys out costs its address what any request costs.
    await charge(group, COSTS[group], request, reply);
    if (!isChecked) return;
    if (request.apiKey === undefined) {
      throw new Unauthorized('the API key is not known here; requests without a key are answered, too');
    }
    const { routes } = request.apiKey;
    if (!routes.includes(group)) {
      throw new Forbidden(`the API key is for routes of ${routes.join(', ')} only, and this one is of ${group}`);
    }
  });

  return async (request, reply, calls) => {
    const max = unitsOf(request);
    const units = calls * COSTS.rpc;
    // No later minute would have room for it: 429 would let its client come again for ever.
    if (max !== undefined && units > max) {
      throw new BadRequest(
        `body is a batch of ${calls} calls, which cost ${units} units: more than the ${max} of a minute`,
      );
    }
    if (calls > 1) await charge('rpc', units - COSTS.rpc, request, reply);
  };
}

type Limit = (units: number, request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** @param unitsOf how many units a minute has for who sent the request; undefined where nothing is limited */
async function createLimit(
  server: Server,
  counters: LimitCounters,
  unitsOf: (request: FastifyRequest) => number | undefined,
): Promise<Limit> {
  await server.register(rateLimit, { global: false, store: createUnitStore(counters) });
  const options = {
    max: (request: FastifyRequest) => unitsOf(request) ?? 0,
    timeWindow: WINDOW_MS,
    keyGenerator: ({ apiKey, ip }: FastifyRequest) =>
      apiKey === undefined ? `units:address:${ip.includes(':') ? normalizeIP(ip) : ip}` : `units:key:${apiKey.name}`,
  };
  /** One for each cost there is: those of the routes, and of batches of each length allowed. */
  const limits = new Map<number, ReturnType<Server['createRateLimit']>>();
  function limitOf(units: number) {
    const known = limits.get(units);
    if (known !== undefined) return known;
    // Not the library's option: handed on to the store.
    const limit = server.createRateLimit({ ...options, ...{ units } });
    limits.set(units, limit);
    return limit;
  }

  return async (units, request, reply) => {
    if (unitsOf(request) === undefined) return;
    const usage = await limitOf(units)(request);
    if (usage.isAllowed) return; // never: it would be for being on a list of exceptions
    const { max, remaining, ttl, ttlInSeconds, isExceeded } = usage;
    reply.headers({ 'x-ratelimit-limit': max, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': ttlInSeconds });
    if (!isExceeded) return;
    const hint = request.apiKey === undefined ? '; an API key raises the limit' : '';
    throw new TooManyRequests(`more than ${max} units in a minute${hint}`, ttl);
  };
}

function declareUnits(registry: Registry): Counter<'key' | 'routes'> {
  return new Counter({
    name: 'access_units_total',
    help: 'Units that requests cost, answered or refused, by the name of the API key; empty without one',
    labelNames: ['key', 'routes'],
    registers: [registry],
  });
}

/** Health, metrics and documents are operations, and so is what has no route. */
function groupOf({ routeOptions: { url = '' } }: FastifyRequest): RouteGroup | 'operations' {
  if (url.startsWith('/v1/signatureAggregator/')) return 'aggregation';
  if (url.startsWith('/ext/')) return 'rpc';
  return url.startsWith('/v1/') ? 'data' : 'operations';
}

/** Looks at all keys, at each in constant time, so that nothing is learned from how long it takes. */
function findKey(apiKeys: readonly ApiKey[], text: string): ApiKey | undefined {
  if (text.length > MAX_KEY_LENGTH) return undefined;
  const hash = createHash('sha256').update(text).digest();
  let found: ApiKey | undefined;
  for (const key of apiKeys) {
    if (timingSafeEqual(key.sha256, hash)) found = key;
  }
  return found;
}

/** The library counts requests; its store counts units here, over all routes of a client. */
function createUnitStore(counters: LimitCounters) {
  return class UnitStore {
    units = 1;

    incr(
      client: string,
      callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
      windowMs: number,
    ): void {
      counters.add(client, this.units, windowMs).then(({ used, leftMs }) => {
        callback(null, { current: used, ttl: leftMs });
      }, callback);
    }

    /** The library makes one for each of its limits. */
    child(options: object): UnitStore {
      const child = new UnitStore();
      child.units = (options as { readonly units: number }).units;
      return child;
    }
  };
}
