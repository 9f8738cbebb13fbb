import { validateHeaderValue } from 'node:http';
import { Readable } from 'node:stream';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  AGGREGATION_EVENTS,
  type AggregationEvent,
  type AggregationEventKind,
} from '../../api/aggregation/progress-records.ts';
import { SignatureAggregatorError } from '../../client/client-error.ts';
import type { StreamEvent } from '../../client/event-stream.ts';
import { API_KEY_HEADER, type Call, Caller } from '../../client/http-call.ts';
import { findProxyProblem } from '../../config/load/proxy-variables.ts';
import { maskedUrl } from '../../config/schema/mask.ts';
import { Exchange } from '../../lib/net/exchange.ts';
import { describeTransportError } from '../../lib/net/transport-error.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { CommandFailure, EXIT, usageFailure } from './exit-codes.ts';
import { parseAddress } from './input.ts';
import { ServiceRefusal } from './service-refusal.ts';

interface ServiceClientOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  /** Whether the command can do without a service, by `--config`; false by default. */
  readonly hasConfig?: boolean;
}

const Readiness = Type.Object({ networks: Type.Array(Type.Object({ name: Type.String() })) });

/** Client of a running service. Responses are validated, because the address may belong to another program. */
export class ServiceClient implements AsyncDisposable {
  readonly #timeoutMs: number;
  readonly #hasConfig: boolean;
  /** For messages, without the password. */
  readonly #url: string;
  readonly #exchange: Exchange;
  readonly #caller: Caller;
  readonly #signal: AbortSignal;

  /** @throws {CommandFailure} if the URL is invalid, or the key cannot be sent */
  constructor({ url: given, apiKey, timeoutMs, hasConfig = false }: ServiceClientOptions) {
    const url = parseAddress(given, '--url', 'the address of a service, such as http://127.0.0.1:8080');
    if (url.search !== '' || url.hash !== '') {
      throw usageFailure('--url must be an address without a query and without a fragment');
    }
    requireSendable(apiKey);
    const proxyProblem = findProxyProblem();
    if (proxyProblem !== undefined) throw usageFailure(proxyProblem);
    this.#timeoutMs = timeoutMs;
    this.#hasConfig = hasConfig;
    this.#url = maskedUrl(given);
    this.#exchange = new Exchange({ baseUrl: url.href }, { connections: 1 });
    // The exchange has the address, with the password and the path of a proxy.
    const options = { baseUrl: '', fetch: fetchOver(this.#exchange), maxRetries: 0 };
    // The signal bounds a call; the caller's own time ends streams that are silent.
    this.#caller = new Caller({ ...options, apiKey, timeoutMs: timeoutMs + CALLER_GRACE_MS });
    this.#signal = AbortSignal.timeout(timeoutMs);
  }

  /**
   * Returns the path of a network's routes.
   *
   * @param networkID of the message, if there is one
   * @throws {CommandFailure} if the service has several networks, and none is chosen
   */
  async networkPath(name: string | undefined, networkID: number | undefined): Promise<string> {
    return `/v1/signatureAggregator/${encodeURIComponent(name ?? (await this.#networkOf(networkID)))}`;
  }

  async #networkOf(networkID: number | undefined): Promise<string> {
    // The route lists the networks before the service is ready, too.
    const { networks } = await this.#ask({ path: '/health/ready', allowed: 503 }, Readiness);
    return chooseNetwork('the service', networks, networkID).name;
  }

  /** @throws {CommandFailure} */
  get<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>> {
    return this.#ask({ path }, schema);
  }

  /** Returns the result of a route that takes no body. @throws {CommandFailure} */
  post<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>> {
    return this.#ask({ path, method: 'POST' }, schema);
  }

  /**
   * Returns the result of a route that may send events first; older services do not.
   *
   * @param call with a body for a POST
   * @throws {CommandFailure}
   */
  follow<Schema extends TSchema>(
    call: Pick<Call, 'path' | 'body'>,
    schema: Schema,
    onEvent: (event: AggregationEvent) => void,
  ): Promise<Static<Schema>> {
    return this.#ask(call, schema, ({ event, data }) => {
      if (isKnown(event) && Value.Check(AGGREGATION_EVENTS[event], data)) onEvent({ event, data } as AggregationEvent);
    });
  }

  /**
   * Returns the events of a stream without an end, which ends where the service or the network ends it.
   *
   * @param signal ends the stream, whose time is not limited
   * @throws {CommandFailure}
   */
  async *stream(path: string, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    try {
      yield* this.#caller.events({ path, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw this.#failureOf(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exchange[Symbol.asyncDispose]();
  }

  async #ask<Schema extends TSchema>(
    call: Call,
    schema: Schema,
    onEvent?: (event: StreamEvent) => void,
  ): Promise<Static<Schema>> {
    const sent = { ...call, signal: this.#signal };
    const asking = onEvent === undefined ? this.#caller.json(sent) : this.#caller.result(sent, onEvent);
    const answer = await asking.catch((error: unknown) => {
      if (!this.#signal.aborted) throw this.#failureOf(error);
      const silent = `${this.#exchange.address.origin} gave no answer within ${this.#timeoutMs / 1_000} s`;
      throw later(`${silent}: try again, or give it more time by --timeout`, error);
    });
    if (Value.Check(schema, answer)) return answer;
    throw usageFailure(`what answers at ${this.#url} is no signature aggregator that is known here; check --url`);
  }

  #failureOf(error: unknown): unknown {
    if (!(error instanceof SignatureAggregatorError)) return error;
    if (error.code !== 'unreachable') return new ServiceRefusal(error);
    if (error.cause === undefined) return later(`${this.#url} broke off its answer; try again`, error);
    const advice = `give the address of a running service by --url${this.#hasConfig ? ', or do without one by --config' : ''}`;
    const problem = `cannot be asked: ${describeTransportError(error.cause)}`;
    return later(`${this.#exchange.address.origin} ${problem}; ${advice}`, error);
  }
}

/** `--timeout` is over before the time of the client's package. */
const CALLER_GRACE_MS = 1_000;

function later(message: string, cause: unknown): CommandFailure {
  return new CommandFailure(EXIT.later, message, { cause });
}

/** Statuses whose answers have no body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A `fetch` of paths at one address. Node's own refuses some ports, such as 6000, and ignores the variables of proxies. */
function fetchOver(exchange: Exchange): typeof fetch {
  return async (target, { method, headers, body, signal } = {}) => {
    const answer = await exchange.send({
      method: method === 'POST' ? 'POST' : 'GET',
      target: target as string,
      headers: headers as Record<string, string>,
      ...(typeof body === 'string' && { body }),
      signal: signal as AbortSignal,
    });
    const received = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const { status } = answer;
    const sent = NO_BODY.has(status) ? null : (Readable.toWeb(answer.body) as ReadableStream);
    return new Response(sent, { status, headers: received });
  };
}

/** @throws {CommandFailure} without the key in its message */
function requireSendable(apiKey = ''): void {
  try {
    validateHeaderValue(API_KEY_HEADER, apiKey);
  } catch {
    throw usageFailure(
      '--api-key, or WARP_API_KEY, has a character that no header may have, such as the end of a line',
    );
  }
}

function isKnown(event: string): event is AggregationEventKind {
  return Object.hasOwn(AGGREGATION_EVENTS, event);
}

/**
 * Chooses the network of a command that names none: the only one, or the public one of the message.
 *
 * @param source of the networks, for the error
 * @param networkID of the message, if there is one
 * @throws {CommandFailure} if there are several
 */
export function chooseNetwork<Named extends { readonly name: string }>(
  source: string,
  networks: readonly Named[],
  networkID: number | undefined,
): Named {
  const [first, ...others] = networks;
  const known = PUBLIC_NETWORKS.find((network) => network.networkID === networkID);
  const chosen = others.length === 0 ? first : networks.find((network) => network.name === known?.name);
  if (chosen !== undefined) return chosen;
  const names = networks.map((network) => network.name).join(', ');
  throw usageFailure(`${source} has several networks: name one by --network (${names})`);
}
