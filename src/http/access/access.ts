import type { FastifyReply } from 'fastify';
import type { LimitCounters } from '../../store/local/limit-counters.ts';
import type { Counter, Metrics } from '../../telemetry/metrics.ts';
import { badRequest, type HttpError, rateLimited } from '../errors/http-error.ts';
import type { ApiKey } from '../request/client-identity.ts';
import type { Server } from '../request/http-server.ts';
import type { Charging, RequestContext } from '../request/request-context.ts';
import type { RouteGroup } from '../request/route-access.ts';
import { judgeApiKey, judgeNoKey, readApiKey } from './api-keys.ts';
import { type Allowance, type Charge, takeUnits } from './rate-limiter.ts';

export interface AccessRules {
  /** If there are none, clients' keys are ignored: they may be meant for the API that this service replaces. */
  readonly apiKeys: readonly ApiKey[];
  /** Whether a request without a key is refused; there are keys then. */
  readonly requireKey?: boolean;
  /** Whether this machine may use the routes of `operate` while there are no keys. */
  readonly operateWithoutKey?: boolean;
  /** Limit of each client address without a key; undefined if nothing is limited, keys included. */
  readonly unitsPerMinute: number | undefined;
}

export interface AccessOptions {
  /** Replaced by a reload, and so read at each request. */
  rules: AccessRules;
  /** Addresses or CIDR blocks whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  readonly limits: LimitCounters;
}

/** Refuses routes without an access declaration among those that are registered after it. */
export function requireRouteAccess(server: Server): void {
  server.addHook('onRoute', ({ config, method, url }) => {
    if (config?.access !== undefined) return;
    throw new Error(`a route without an access declaration (config: { access }): ${[method].flat().join(', ')} ${url}`);
  });
}

/** Checks keys and rate limits of all routes that are registered after it; each route declares its group and price. */
export function registerAccess(server: Server, gate: AccessGate): void {
  server.addHook('onRequest', ({ context }, _reply, done) => {
    const { access } = context.route.config;
    // A request without a route declares nothing: its 404 is free.
    if (access === undefined || access.group === 'operations') return done();
    gate.admit(context, access.group, access.unitsIfCached ?? access.units).then(done, done);
  });
}

type Refusal = HttpError | undefined;

/** Decides whether a request is admitted, and charges its client. */
export class AccessGate implements Charging {
  readonly #options: AccessOptions;
  readonly #counted: Counter<'key' | 'routes'>;

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
        help: 'Units per minute, by the name of the API key; the empty name is each address without a key. Absent if nothing is limited',
        labels: ['key'],
      },
      () => limitsOf(options.rules),
    );
  }

  /** @returns the reason to refuse the request */
  async admit(context: RequestContext, group: RouteGroup, units: number): Promise<Refusal> {
    const apiKey = readApiKey(context.request, this.#options.rules.apiKeys);
    context.identify(apiKey === 'unknown' ? undefined : apiKey);
    const { requireKey = false } = this.#options.rules;
    const refusal = apiKey === undefined ? judgeNoKey(requireKey) : judgeApiKey(apiKey, group, requireKey);
    // A wrong key costs its address what any request costs, so that guessing keys is limited.
    const limited = await this.#charge(context, units, ADVICE);
    return refusal ?? limited;
  }

  async chargeMore(context: RequestContext, units: number, advice = ADVICE): Promise<void> {
    const refusal = units === 0 ? undefined : await this.#charge(context, units, advice);
    if (refusal !== undefined) throw refusal;
  }

  async chargeAfterwards(context: RequestContext, units: number): Promise<void> {
    const charge = units === 0 ? undefined : this.#count(context, units);
    if (charge === undefined) return;
    showLimit(context.reply, charge, await takeUnits(this.#options.limits, context.client, charge, 'afterwards'));
  }

  /** @returns units per minute; undefined if nothing is limited */
  #limitOf({ apiKey }: RequestContext): number | undefined {
    const { unitsPerMinute } = this.#options.rules;
    return unitsPerMinute === undefined ? undefined : (apiKey?.unitsPerMinute ?? unitsPerMinute);
  }

  async #charge(context: RequestContext, units: number, advice: string): Promise<Refusal> {
    const limit = this.#limitOf(context);
    const total = context.units + units;
    // It never fits into a minute: after a 429 its client would retry forever.
    if (limit !== undefined && total > limit) {
      return badRequest(`this request costs ${total} units, more than the ${limit} of a minute: ${advice}`);
    }
    const charge = this.#count(context, units);
    if (charge === undefined) return undefined;
    const allowance = await takeUnits(this.#options.limits, context.client, charge);
    showLimit(context.reply, charge, allowance);
    if (allowance.refusal === undefined) return undefined;
    const { text, retryAfterMs } = allowance.refusal;
    return rateLimited(context.apiKey === undefined ? `${text}; an API key raises the limit` : text, retryAfterMs);
  }

  /** Counts units, also of a request that is then refused. @returns what the rate limiter has to take; undefined if nothing is limited */
  #count(context: RequestContext, units: number): Charge | undefined {
    context.addUnits(units);
    // Only requests are charged whose route declares a group other than operations.
    const group = context.route.config.access?.group as RouteGroup;
    this.#counted.inc({ key: context.apiKey?.name ?? '', routes: group }, units);
    const unitsPerMinute = this.#limitOf(context);
    return unitsPerMinute === undefined ? undefined : { units, unitsPerMinute, total: context.units };
  }
}

/** For a request that costs more than a minute's units. */
const ADVICE = 'it takes an API key with a higher limit';

function showLimit(reply: FastifyReply, { unitsPerMinute }: Charge, { remaining, resetMs }: Allowance): void {
  // Three calls are cheaper than one with an object, whose keys Fastify looks up.
  reply.header('x-ratelimit-limit', unitsPerMinute);
  reply.header('x-ratelimit-remaining', remaining);
  reply.header('x-ratelimit-reset', Math.ceil(resetMs / 1_000));
}

function limitsOf({ apiKeys, unitsPerMinute }: AccessRules) {
  if (unitsPerMinute === undefined) return [];
  return [{ name: '', unitsPerMinute }, ...apiKeys].map(({ name, unitsPerMinute: value }) => ({
    labels: { key: name },
    value,
  }));
}
