import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LimitCounters } from '../../store/local/limit-counters.ts';
import type { Counter, Metrics } from '../../telemetry/metrics.ts';
import { badRequest, type HttpError, rateLimited } from '../errors/http-error.ts';
import type { Server } from '../request/http-server.ts';
import { type ApiKey, judgeApiKey, readApiKey } from './api-keys.ts';
import { clientOf } from './client-identity.ts';
import { type Allowance, type Charge, takeUnits } from './rate-limiter.ts';
import type { RouteGroup } from './route-access.ts';

/** Keys and limits are read at each request, so they may be replaced while the service runs. */
export interface AccessOptions {
  /** If there are none, clients' keys are ignored: they may be meant for the API that this service replaces. */
  readonly apiKeys: readonly ApiKey[];
  /** Limit of each client address without a key; undefined if nothing is limited, keys included. */
  readonly unitsPerMinute: number | undefined;
  /** Addresses or CIDR blocks whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  readonly limits: LimitCounters;
}

declare module 'fastify' {
  interface FastifyInstance {
    accessGate: AccessGate;
  }
  interface FastifyRequest {
    /** Units charged so far. */
    units: number;
  }
}

/** Checks keys and rate limits of all routes that are registered after it; each route declares its group and price. */
export function registerAccess(server: Server, options: AccessOptions, metrics: Metrics): void {
  const gate = new AccessGate(options, metrics);
  server.decorate('accessGate', gate);
  server.decorateRequest('apiKey', undefined);
  server.decorateRequest('clientID', undefined);
  server.decorateRequest('units', 0);
  server.addHook('onRequest', (request, reply, done) => {
    const { access } = request.route.config;
    // A request without a route declares nothing: its 404 is free.
    if (access === undefined || access.group === 'operations') return done();
    gate.admit(request, reply, access.group, access.unitsIfCached ?? access.units).then(done, done);
  });
}

type Refusal = HttpError | undefined;

/** Decides whether a request is admitted, and charges its client. */
class AccessGate {
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
      () => limitsOf(options),
    );
  }

  /** @returns the reason to refuse the request */
  async admit(request: FastifyRequest, reply: FastifyReply, group: RouteGroup, units: number): Promise<Refusal> {
    const apiKey = readApiKey(request, this.#options.apiKeys);
    request.apiKey = apiKey === 'unknown' ? undefined : apiKey;
    const refusal = apiKey && judgeApiKey(apiKey, group);
    // A wrong key costs its address what any request costs, so that guessing keys is limited.
    const limited = await this.#charge(request, reply, units, ADVICE);
    return refusal ?? limited;
  }

  /**
   * Charges the client of a request for what is known only after its body was read, such as the length of a batch.
   *
   * @param advice for a request that costs more than a minute's units, such as to send it in parts
   * @throws {HttpError} `rate_limited`, or `invalid_request` if the request costs more than a minute's units
   */
  async chargeMore(request: FastifyRequest, reply: FastifyReply, units: number, advice = ADVICE): Promise<void> {
    const refusal = units === 0 ? undefined : await this.#charge(request, reply, units, advice);
    if (refusal !== undefined) throw refusal;
  }

  /** Charges the client for what is known only after the work began. The request continues; the units are missing for the next one. */
  async chargeAfterwards(request: FastifyRequest, reply: FastifyReply, units: number): Promise<void> {
    const charge = units === 0 ? undefined : this.#count(request, units);
    if (charge === undefined) return;
    showLimit(reply, charge, await takeUnits(this.#options.limits, clientOf(request), charge, 'afterwards'));
  }

  /** @returns units per minute; undefined if nothing is limited */
  #limitOf({ apiKey }: FastifyRequest): number | undefined {
    const { unitsPerMinute } = this.#options;
    return unitsPerMinute === undefined ? undefined : (apiKey?.unitsPerMinute ?? unitsPerMinute);
  }

  async #charge(request: FastifyRequest, reply: FastifyReply, units: number, advice: string): Promise<Refusal> {
    const limit = this.#limitOf(request);
    const total = request.units + units;
    // It never fits into a minute: after a 429 its client would retry forever.
    if (limit !== undefined && total > limit) {
      return badRequest(`this request costs ${total} units, more than the ${limit} of a minute: ${advice}`);
    }
    const charge = this.#count(request, units);
    if (charge === undefined) return undefined;
    const allowance = await takeUnits(this.#options.limits, clientOf(request), charge);
    showLimit(reply, charge, allowance);
    if (allowance.refusal === undefined) return undefined;
    const { text, retryAfterMs } = allowance.refusal;
    return rateLimited(request.apiKey === undefined ? `${text}; an API key raises the limit` : text, retryAfterMs);
  }

  /** Counts units, also of a request that is then refused. @returns what the rate limiter has to take; undefined if nothing is limited */
  #count(request: FastifyRequest, units: number): Charge | undefined {
    request.units += units;
    // Only requests are charged whose route declares a group other than operations.
    const group = request.route.config.access?.group as RouteGroup;
    this.#counted.inc({ key: request.apiKey?.name ?? '', routes: group }, units);
    const unitsPerMinute = this.#limitOf(request);
    return unitsPerMinute === undefined ? undefined : { units, unitsPerMinute, total: request.units };
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

function limitsOf({ apiKeys, unitsPerMinute }: AccessOptions) {
  if (unitsPerMinute === undefined) return [];
  return [{ name: '', unitsPerMinute }, ...apiKeys].map(({ name, unitsPerMinute: value }) => ({
    labels: { key: name },
    value,
  }));
}
