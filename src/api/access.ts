import { createHash, timingSafeEqual } from 'node:crypto';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LimitCounters } from '../store/limit-counters.ts';
import { Forbidden, TooManyRequests, Unauthorized } from './error-handler.ts';
import type { Server } from './http-server.ts';

/** What a key may be allowed to use. */
const ROUTE_GROUPS = ['aggregation', 'data', 'rpc'] as const;
export type RouteGroup = (typeof ROUTE_GROUPS)[number];

export interface ApiKey {
  /** For metrics and logs; says nothing of the key. */
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
 * the node takes its one lock. Operations are free: probes and scrapes must not fail for coming often.
 */
const COSTS: Readonly<Record<RouteGroup, number>> = { aggregation: 10, data: 1, rpc: 2 };
const WINDOW_MS = 60_000;
/** Longer ones are no keys of ours, and would only cost hashing. */
const MAX_KEY_LENGTH = 512;

declare module 'fastify' {
  interface FastifyRequest {
    apiKey: ApiKey | undefined;
  }
}

/** Keys and rate limits of all routes that are registered after it. */
export async function registerAccess(server: Server, options: AccessOptions): Promise<void> {
  const limit = await createLimit(server, options);
  server.decorateRequest('apiKey', undefined);
  server.addHook('onRequest', async (request, reply) => {
    const group = groupOf(request);
    if (group === 'operations') return;
    const given = request.headers['x-service-api-key'] ?? request.headers['x-glacier-api-key'] ?? '';
    const isChecked = options.apiKeys.length > 0 && given !== '';
    request.apiKey = isChecked && typeof given === 'string' ? findKey(options.apiKeys, given) : undefined;
    // First: trying keys out costs its address what any request costs.
    await limit(group, request, reply);
    if (!isChecked) return;
    if (request.apiKey === undefined) {
      throw new Unauthorized('the API key is not known here; requests without a key are answered, too');
    }
    const { routes } = request.apiKey;
    if (!routes.includes(group)) {
      throw new Forbidden(`the API key is for routes of ${routes.join(', ')} only, and this one is of ${group}`);
    }
  });
}

type Limit = (group: RouteGroup, request: FastifyRequest, reply: FastifyReply) => Promise<void>;

async function createLimit(server: Server, { unitsPerMinute, limits: counters }: AccessOptions): Promise<Limit> {
  if (unitsPerMinute === undefined) return async () => undefined;
  await server.register(rateLimit, { global: false, store: createUnitStore(counters) });
  const limits = new Map(
    ROUTE_GROUPS.map((group) => {
      const ofGroup = {
        max: (request: FastifyRequest) => request.apiKey?.unitsPerMinute ?? unitsPerMinute,
        timeWindow: WINDOW_MS,
        keyGenerator: ({ apiKey, ip }: FastifyRequest) =>
          apiKey === undefined ? `units:address:${normalizeIP(ip)}` : `units:key:${apiKey.name}`,
        errorResponseBuilder: ({ apiKey }: FastifyRequest, { max, ttl }: { max: number; ttl: number }) =>
          new TooManyRequests(
            `more than ${max} units in a minute${apiKey === undefined ? '; an API key raises the limit' : ''}`,
            ttl,
          ),
        // Not the library's: handed on to the store.
        cost: COSTS[group],
      };
      return [group, server.rateLimit(ofGroup)] as const;
    }),
  );
  return async (group, request, reply) => {
    const handler = limits.get(group) as ((request: FastifyRequest, reply: FastifyReply) => Promise<void>) | undefined;
    await handler?.(request, reply);
  };
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
    cost = 1;

    incr(
      client: string,
      callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
      windowMs: number,
    ): void {
      counters.add(client, this.cost, windowMs).then(({ used, leftMs }) => {
        callback(null, { current: used, ttl: leftMs });
      }, callback);
    }

    /** The library makes one for each of its handlers. */
    child(options: object): UnitStore {
      const child = new UnitStore();
      child.cost = (options as { readonly cost: number }).cost;
      return child;
    }
  };
}
