import { validateHeaderValue } from 'node:http';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Dispatcher } from 'undici';
import {
  AGGREGATION_EVENTS,
  type AggregationEvent,
  type AggregationEventKind,
} from '../../api/aggregation/progress-records.ts';
import { readEvents, type StreamEvent } from '../../client/event-stream.ts';
import { API_KEY_HEADER } from '../../client/http-call.ts';
import { findProxyProblem } from '../../config/load/proxy-variables.ts';
import { maskedUrl } from '../../config/schema/mask.ts';
import { REQUEST_ID_HEADER } from '../../http/request/request-id.ts';
import { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import { openHttpPool } from '../../lib/net/http-port.ts';
import { describeTransportError } from '../../lib/net/transport-error.ts';
import { readBody } from '../../pchain/rpc/read-body.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { CommandFailure, EXIT, usageFailure } from './exit-codes.ts';
import { parseAddress } from './input.ts';
import { ServiceRefusal } from './service-refusal.ts';
import { messageOf } from './text.ts';

/** A page of 1,000 validators and an event of 10,000 validators have up to 1.5 MB. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const EVENTS = 'text/event-stream';
/** Streams have a comment at least every 10 s. */
const SILENCE_MS = 30_000;

interface ServiceClientOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
}

const Readiness = Type.Object({ networks: Type.Array(Type.Object({ name: Type.String() })) });

/** Client of a running service. Responses are validated, because the address may belong to another program. */
export class ServiceClient implements AsyncDisposable {
  readonly #options: ServiceClientOptions;
  /** With a path before all routes, if the service is behind a proxy. */
  readonly #address: EndpointAddress;
  /** For messages, without the password. */
  readonly #url: string;
  readonly #http: Dispatcher;
  readonly #signal: AbortSignal;

  /** @throws {CommandFailure} if the URL is invalid, or the key cannot be sent */
  constructor(options: ServiceClientOptions) {
    const url = parseAddress(options.url, '--url', 'the address of a service, such as http://127.0.0.1:8080');
    if (url.search !== '' || url.hash !== '') {
      throw usageFailure('--url must be an address without a query and without a fragment');
    }
    requireSendable(options.apiKey);
    const proxyProblem = findProxyProblem();
    if (proxyProblem !== undefined) throw usageFailure(proxyProblem);
    this.#options = options;
    this.#url = maskedUrl(options.url);
    this.#address = new EndpointAddress({ baseUrl: url.href });
    this.#http = openHttpPool(url.origin, { connections: 1 });
    this.#signal = AbortSignal.timeout(options.timeoutMs);
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
    const { networks } = await this.get('/health/ready', Readiness, [503]);
    return chooseNetwork('the service', networks, networkID).name;
  }

  /**
   * @param allowed error statuses whose bodies match the schema, too
   * @throws {CommandFailure}
   */
  async get<Schema extends TSchema>(path: string, schema: Schema, allowed: readonly number[] = []) {
    return this.#read(schema, await this.#send({ method: 'GET', path }), allowed);
  }

  /** Returns the result of a route that takes no body. @throws {CommandFailure} */
  async post<Schema extends TSchema>(path: string, schema: Schema) {
    return this.#read(schema, await this.#send({ method: 'POST', path }));
  }

  /**
   * Returns the result of a route that may send events first; older services do not.
   *
   * @throws {CommandFailure}
   */
  async follow<Schema extends TSchema>(
    { method, path, body: sent }: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: object },
    schema: Schema,
    onEvent: (event: AggregationEvent) => void,
  ): Promise<Static<Schema>> {
    const response = await this.#send({
      method,
      path,
      headers: { accept: `${EVENTS}, application/json;q=0.5` },
      ...(sent && { body: JSON.stringify(sent) }),
    });
    if (!String(response.headers['content-type']).startsWith(EVENTS)) return this.#read(schema, response);
    try {
      for await (const { event, data } of readEvents(response.body as AsyncIterable<Uint8Array>)) {
        if (event === 'result') return this.#checked(schema, data);
        if (event === 'error') throw refusalOf(data, response);
        if (isKnown(event) && Value.Check(AGGREGATION_EVENTS[event], data))
          onEvent({ event, data } as AggregationEvent);
      }
    } catch (error) {
      throw error instanceof CommandFailure ? error : this.#describe(error);
    }
    throw new CommandFailure(EXIT.later, `${this.#url} broke off its answer; try again`);
  }

  /**
   * Returns the events of a stream without an end, which ends where the service or the network ends it.
   *
   * @param signal ends the stream, whose time is not limited
   * @throws {CommandFailure}
   */
  async *stream(path: string, lastEventID: string | undefined, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const headers = { accept: EVENTS, ...(lastEventID !== undefined && { 'last-event-id': lastEventID }) };
    const response = await this.#send({ method: 'GET', path, headers, signal });
    if (!String(response.headers['content-type']).startsWith(EVENTS)) {
      await this.#read(Type.Never(), response);
      return;
    }
    try {
      for await (const event of readEvents(response.body as AsyncIterable<Uint8Array>)) {
        if (event.event === 'error') throw refusalOf(event.data, response);
        yield event;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CommandFailure) throw error;
      throw new CommandFailure(EXIT.later, `${this.#url} broke off its events: ${messageOf(error)}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.destroy();
  }

  async #send(request: Omit<Dispatcher.RequestOptions, 'origin'>): Promise<Dispatcher.ResponseData> {
    const { apiKey, timeoutMs } = this.#options;
    try {
      return await this.#http.request({
        ...request,
        path: this.#address.path(request.path),
        headers: {
          ...this.#address.headers,
          ...(request.body !== undefined && { 'content-type': 'application/json' }),
          ...(apiKey !== undefined && { [API_KEY_HEADER]: apiKey }),
          ...(request.headers as Record<string, string>),
        },
        signal: this.#signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        ...(request.signal && { signal: request.signal, bodyTimeout: SILENCE_MS }),
      });
    } catch (error) {
      throw this.#describe(error);
    }
  }

  async #read<Schema extends TSchema>(
    schema: Schema,
    response: Dispatcher.ResponseData,
    allowed: readonly number[] = [],
  ): Promise<Static<Schema>> {
    const { statusCode, body } = response;
    let text: string;
    try {
      text = await readBody(body, MAX_ANSWER_BYTES);
    } catch (error) {
      throw this.#describe(error);
    }
    const json = parseJson(text);
    if (statusCode < 300 || allowed.includes(statusCode)) return this.#checked(schema, json);
    throw refusalOf(json, response);
  }

  #checked<Schema extends TSchema>(schema: Schema, body: unknown): Static<Schema> {
    if (Value.Check(schema, body)) return body;
    throw usageFailure(`what answers at ${this.#url} is no signature aggregator that is known here; check --url`);
  }

  #describe(cause: unknown): CommandFailure {
    const seconds = this.#options.timeoutMs / 1_000;
    const problem = this.#signal.aborted
      ? `gave no answer within ${seconds} s: try again, or give it more time by --timeout`
      : `cannot be asked: ${describeTransportError(cause)}; give the address of a running service by --url, or do without one by --config`;
    return new CommandFailure(EXIT.later, `${this.#address.origin} ${problem}`, { cause });
  }
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

/** @param body of the response, or the data of an event, which has the time that the header of a plain answer has */
function refusalOf(body: unknown, { statusCode: status, headers }: Dispatcher.ResponseData): ServiceRefusal {
  const { retryAfter = headers['retry-after'] } = (body ?? {}) as { readonly retryAfter?: number | string };
  const { [REQUEST_ID_HEADER]: requestID } = headers;
  return new ServiceRefusal(body, {
    status,
    retryAfter: retryAfter === undefined ? undefined : String(retryAfter),
    requestID: requestID === undefined ? undefined : String(requestID),
  });
}

function isKnown(event: string): event is AggregationEventKind {
  return Object.hasOwn(AGGREGATION_EVENTS, event);
}

/** Returns undefined for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
