import type { FastifyReply, FastifyRequest } from 'fastify';
import { LazyMap } from '../../lib/cache/lazy-map.ts';
import type { LimitCounters } from '../../store/local/limit-counters.ts';
import type { Counter, Metrics } from '../../telemetry/metrics.ts';
import { badRequest, type HttpError, rateLimited } from '../errors/http-error.ts';
// Says that requests have a `route`.
import type {} from '../request/follow-request.ts';
import type { Server } from '../request/http-server.ts';
import { type ApiKey, judgeApiKey, readApiKey } from './api-keys.ts';
import { type Allowance, after, type Charge, RateLimiter } from './rate-limiter.ts';
import type { RouteGroup } from './route-access.ts';

export interface AccessOptions {
  /** Where there are none, clients' keys are ignored: they may be meant for the API that this service stands in for. */
  readonly apiKeys: readonly ApiKey[];
  /** For each client address without a key; undefined where nothing is limited, keys included. */
  readonly unitsPerMinute: number | undefined;
  /** Addresses or CIDR blocks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly limits: LimitCounters;
}

declare module 'fastify' {
  interface FastifyRequest {
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
    const refusal = gate.admit(request, reply, access.group, access.unitsIfCached ?? access.units);
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

/** Decides who may come in, and keeps the account of units. */
class AccessGate {
  readonly #options: AccessOptions;
  readonly #limiter: RateLimiter;
  readonly #counted: Counter<'key' | 'routes'>;
  /** By name of the key and group of the routes. */
  readonly #series = new LazyMap(
    (key: string) => new LazyMap((routes: RouteGroup) => this.#counted.at({ key, routes })),
  );

  constructor(options: AccessOptions, metrics: Metrics) {
    this.#options = options;
    this.#limiter = new RateLimiter(options.limits);
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
    const { isGiven, apiKey } = apiKeys.length > 0 ? readApiKey(request, apiKeys) : NO_KEY;
    request.apiKey = apiKey;
    const refusal = isGiven ? judgeApiKey(apiKey, group) : undefined;
    // Trying keys out costs its address what any request costs.
    const limited = this.#charge(request, reply, { group, units, advice: 'it takes an API key with a higher limit' });
    return refusal === undefined ? limited : after(limited, () => refusal);
  }

  async chargeMore(request: FastifyRequest, reply: FastifyReply, units: number, advice: string): Promise<void> {
    const { access } = request.route.config;
    if (access === undefined || access.group === 'operations') return;
    const refusal = await this.#charge(request, reply, { group: access.group, units, advice });
    if (refusal !== undefined) throw refusal;
  }

  async chargeAfterwards(request: FastifyRequest, reply: FastifyReply, units: number): Promise<void> {
    const { access } = request.route.config;
    if (access === undefined || access.group === 'operations') return;
    const charge = this.#count(request, access.group, units);
    if (charge !== undefined) showLimit(reply, charge, await this.#limiter.takeAfterwards(request, charge));
  }

  /** Units in a minute; undefined where nothing is limited. */
  #limitOf({ apiKey }: FastifyRequest): number | undefined {
    const { unitsPerMinute } = this.#options;
    return unitsPerMinute === undefined ? undefined : (apiKey?.unitsPerMinute ?? unitsPerMinute);
  }

  /** @param charge its advice is for a request that no minute has units for */
  #charge(
    request: FastifyRequest,
    reply: FastifyReply,
    { group, units, advice }: { readonly group: RouteGroup; readonly units: number; readonly advice: string },
  ): Refusal | Promise<Refusal> {
    const most = this.#limitOf(request);
    const total = request.units + units;
    // No later minute has room for it: with 429 its client would come again for ever.
    if (most !== undefined && total > most) {
      return badRequest(`this request costs ${total} units, more than the ${most} of a minute: ${advice}`);
    }
    const charge = this.#count(request, group, units);
    if (charge === undefined) return undefined;
    return after(this.#limiter.take(request, charge), (allowance) => {
      showLimit(reply, charge, allowance);
      if (allowance.refusal === undefined) return undefined;
      const { text, retryAfterMs } = allowance.refusal;
      return rateLimited(request.apiKey === undefined ? `${text}; an API key raises the limit` : text, retryAfterMs);
    });
  }

  /** Counts what a request costs, also if it is then refused. Returns what is to be taken; undefined where nothing is limited. */
  #count(request: FastifyRequest, group: RouteGroup, units: number): Charge | undefined {
    request.units += units;
    this.#series
      .get(request.apiKey?.name ?? '')
      .get(group)
      .inc(units);
    const unitsPerMinute = this.#limitOf(request);
    return unitsPerMinute === undefined ? undefined : { units, unitsPerMinute, total: request.units };
  }
}

const NO_KEY = { isGiven: false, apiKey: undefined };

type Refusal = HttpError | undefined;

function showLimit(reply: FastifyReply, { unitsPerMinute }: Charge, { remaining, resetMs }: Allowance): void {
  // One by one: Fastify looks each key of an object up.
  reply.header('x-ratelimit-limit', unitsPerMinute);
  reply.header('x-ratelimit-remaining', remaining);
  reply.header('x-ratelimit-reset', Math.ceil(resetMs / 1_000));
}

function limitsOf({ apiKeys, unitsPerMinute }: AccessOptions) {
  if (unitsPerMinute === undefined) return [];
  return [{ name: '', unitsPerMinute }, ...apiKeys].map(({ name, unitsPerMinute: value }) => ({
    labels: { key: name },
    value,
  }));
}
