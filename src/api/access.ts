import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LazyMap } from '../primitives/lazy-map.ts';
import type { LimitCounters, Usage } from '../store/limit-counters.ts';
import type { Counter, Metrics } from '../telemetry/metrics.ts';
import { clientNetwork } from './client-network.ts';
// Says that requests have a `route`.
import type {} from './follow-request.ts';
import { badRequest, HttpError, rateLimited } from './http-error.ts';
import type { Server } from './http-server.ts';
import type { RouteGroup } from './route-access.ts';

export interface ApiKey {
  /** In metrics, in logs and in the counters that replicas share; tells nothing of the key itself. */
  readonly name: string;
  /** SHA-256 of the key. */
  readonly sha256: Uint8Array;
  readonly unitsPerMinute: number;
  readonly routes: readonly RouteGroup[];
}

export interface AccessOptions {
  /** Where there are none, clients' keys are ignored: they may be meant for the API that this service stands in for. */
  readonly apiKeys: readonly ApiKey[];
  /** For each client address without a key; undefined where nothing is limited, keys included. */
  readonly unitsPerMinute: number | undefined;
  /** Addresses or CIDR blocks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly limits: LimitCounters;
}

const WINDOW_MS = 60_000;
/** The second is the first by its other name; an empty one counts as none. */
const KEY_HEADERS = ['x-service-api-key', 'x-glacier-api-key'] as const;
/** Longer texts are no keys of ours, and hashing them would only cost time. */
const MAX_KEY_LENGTH = 512;

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where the client sent none, or one that is not known. */
    apiKey: ApiKey | undefined;
    /** What the request has cost so far. */
    units: number;
    /** Undefined where access is free. */
    accessGate: AccessGate | undefined;
  }
}

/**
 * Keys and rate limits of all routes that are registered after it; each route declares its group and price itself.
 *
 * @param options undefined: everybody may do everything
 */
export function registerAccess(server: Server, options: AccessOptions | undefined, metrics: Metrics): void {
  server.decorateRequest('apiKey', undefined);
  server.decorateRequest('units', 0);
  server.decorateRequest('accessGate', undefined);
  if (options === undefined) return;
  const gate = new AccessGate(options, metrics);
  server.addHook('onRequest', (request, reply, done) => {
    const { access } = request.route.config;
    // What has no route declares nothing, and its 404 is free.
    if (access === undefined || access.group === 'operations') return done();
    request.accessGate = gate;
    const refusal = gate.admit(request, reply, access.group, access.units);
    if (refusal instanceof Promise) refusal.then(done, done);
    else done(refusal);
  });
}

/**
 * Takes further units from whoever sent a request: for what is known only when its body was read, such as the length of a batch.
 * Nothing happens, and nobody has to wait, where access is free, or where `units` is 0.
 *
 * @param advice for a request that no minute has units for, such as to send it in parts
 * @throws {HttpError} `rate_limited`, or `invalid_request` where no minute has as many units as the request costs in all
 */
export function chargeMore(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  advice: string,
): Promise<void> | undefined {
  return units > 0 ? request.accessGate?.chargeMore(request, reply, units, advice) : undefined;
}

/**
 * Takes what is known only when the work has begun, from whoever sent a request. The request goes on: what no minute had room for is
 * missing for the next one.
 */
export function chargeAfterwards(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
): Promise<void> | undefined {
  return units > 0 ? request.accessGate?.chargeAfterwards(request, reply, units) : undefined;
}

/** Whoever sent a request, by its key or else by its address, as a name for whatever is counted or shared by clients. */
export function clientOf({ apiKey, ip }: Client): string {
  return apiKey === undefined ? `address:${clientNetwork(ip ?? '')}` : `key:${apiKey.name}`;
}

interface Client extends Pick<FastifyRequest, 'apiKey'> {
  /** Undefined where the client has gone: its connection has no address any more, whatever Fastify's types say. */
  readonly ip: string | undefined;
}

/** Decides who may come in, and keeps the account of units. */
class AccessGate {
  readonly #options: AccessOptions;
  readonly #counted: Counter<'key' | 'routes'>;
  /** By name of the key and group of the routes. */
  readonly #series = new LazyMap(
    (key: string) => new LazyMap((routes: RouteGroup) => this.#counted.at({ key, routes })),
  );

  constructor(options: AccessOptions, metrics: Metrics) {
    this.#options = options;
    this.#counted = metrics.counter({
      name: 'access_units_total',
      help: 'Units that requests cost, answered or refused, by the name of the API key; empty without one',
      labels: ['key', 'routes'],
    });
    metrics.readGauge<'key'>(
      {
        name: 'access_units_per_minute_limit',
        help: 'The most units in a minute, by the name of the API key; the empty name is each address without one. None where nothing is limited',
        labels: ['key'],
      },
      () => limitsOf(options),
    );
  }

  /** @returns why it may not come in; a promise where other replicas have to be asked */
  admit(request: FastifyRequest, reply: FastifyReply, group: RouteGroup, units: number): Refusal | Promise<Refusal> {
    const { apiKeys } = this.#options;
    const given = apiKeys.length > 0 ? givenKey(request) : undefined;
    const isChecked = given !== undefined;
    request.apiKey = typeof given === 'string' ? findKey(apiKeys, given) : undefined;
    // Before the key is judged: trying keys out costs its address what any request costs.
    const refusal = this.#charge(request, reply, group, units);
    return isChecked ? after(refusal, (first) => first ?? judgeKey(request.apiKey, group)) : refusal;
  }

  async chargeMore(request: FastifyRequest, reply: FastifyReply, units: number, advice: string): Promise<void> {
    const { access } = request.route.config;
    if (access === undefined || access.group === 'operations') return;
    const limit = this.#limitOf(request);
    const total = request.units + units;
    // No later minute would have room for it: 429 would make its client come again for ever.
    if (limit !== undefined && total > limit) {
      throw badRequest(`this request costs ${total} units, more than the ${limit} of a minute: ${advice}`);
    }
    const refusal = await this.#charge(request, reply, access.group, units);
    if (refusal !== undefined) throw refusal;
  }

  async chargeAfterwards(request: FastifyRequest, reply: FastifyReply, units: number): Promise<void> {
    const { access } = request.route.config;
    if (access !== undefined && access.group !== 'operations') await this.#take(request, reply, access.group, units);
  }

  /** Units in a minute; undefined where nothing is limited. */
  #limitOf({ apiKey }: FastifyRequest): number | undefined {
    const { unitsPerMinute } = this.#options;
    return unitsPerMinute === undefined ? undefined : (apiKey?.unitsPerMinute ?? unitsPerMinute);
  }

  #charge(request: FastifyRequest, reply: FastifyReply, group: RouteGroup, units: number): Refusal | Promise<Refusal> {
    const taken = this.#take(request, reply, group, units);
    if (taken === undefined) return undefined;
    return after(taken, (account) => {
      if (account.used <= account.limit) return undefined;
      const hint = request.apiKey === undefined ? '; an API key raises the limit' : '';
      return rateLimited(`more than ${account.limit} units in a minute${hint}`, account.leftMs);
    });
  }

  /** @returns what the client has used of its minute; undefined where nothing is limited */
  #take(
    request: FastifyRequest,
    reply: FastifyReply,
    group: RouteGroup,
    units: number,
  ): Account | Promise<Account> | undefined {
    const { apiKey } = request;
    request.units += units;
    this.#series
      .get(apiKey?.name ?? '')
      .get(group)
      .inc(units);
    const limit = this.#limitOf(request);
    if (limit === undefined) return undefined;
    return after(this.#options.limits.add(`units:${clientOf(request)}`, units, WINDOW_MS), ({ used, leftMs }) => {
      // One by one: Fastify looks each key of an object up.
      reply.header('x-ratelimit-limit', limit);
      reply.header('x-ratelimit-remaining', Math.max(0, limit - used));
      reply.header('x-ratelimit-reset', Math.ceil(leftMs / 1_000));
      return { limit, used, leftMs };
    });
  }
}

type Refusal = HttpError | undefined;

interface Account extends Usage {
  readonly limit: number;
}

/** Goes on at once with what is there, so that a request that nobody else has to be asked about waits for nothing. */
function after<T, R>(value: T | Promise<T>, use: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

function givenKey({ headers }: FastifyRequest): string | string[] | undefined {
  return KEY_HEADERS.map((name) => headers[name]).find((text) => text !== undefined && text !== '');
}

function judgeKey(key: ApiKey | undefined, group: RouteGroup): Refusal {
  if (key === undefined) {
    return new HttpError('unauthorized', 'the API key is not known here; requests without a key are answered too');
  }
  if (key.routes.includes(group)) return undefined;
  const allowed = key.routes.join(', ');
  return new HttpError('forbidden', `the API key is for routes of ${allowed} only, and this one is of ${group}`);
}

function limitsOf({ apiKeys, unitsPerMinute }: AccessOptions) {
  if (unitsPerMinute === undefined) return [];
  return [{ name: '', unitsPerMinute }, ...apiKeys].map(({ name, unitsPerMinute: value }) => ({
    labels: { key: name },
    value,
  }));
}

/** Compares with every key, each in constant time, so that the time it takes tells nothing. */
function findKey(apiKeys: readonly ApiKey[], text: string): ApiKey | undefined {
  if (text.length > MAX_KEY_LENGTH) return undefined;
  const hash = createHash('sha256').update(text).digest();
  let found: ApiKey | undefined;
  for (const key of apiKeys) {
    if (timingSafeEqual(key.sha256, hash)) found = key;
  }
  return found;
}
