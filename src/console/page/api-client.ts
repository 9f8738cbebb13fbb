import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Static } from 'typebox';
import type { DestinationBody } from '../../api/aggregation/destinations.ts';
import type { AggregationEvent } from '../../api/aggregation/progress-records.ts';
import type { SignedMessageBody } from '../../api/aggregation/signed-message-record.ts';
import type { ReadinessBody } from '../../api/health/health.ts';
import type { DecodeResult } from '../../api/messages/message-records.ts';
import type { VerificationBody } from '../../api/messages/messages.ts';
import type { VerificationResult } from '../../api/messages/verification-record.ts';
import type { RequestRecord } from '../../api/requests/request-record.ts';
import type { SubnetListBody, SubnetViewBody } from '../../api/subnets/subnet-records.ts';
import type { DevnetNetwork, Example } from '../../devnet/devnet-schemas.ts';
import type { AggregationDetails } from '../../http/errors/aggregation-details.ts';
import type { SentMessages } from '../../http/errors/sent-messages.ts';
import type { ActivityBody } from '../server/activity.ts';
import type { ConsoleFacts } from '../server/console-facts.ts';
import { pathOf, type SignRequest } from './sign/snippets.ts';

export type DestinationView = DestinationBody;
export type SignedMessage = Static<typeof SignedMessageBody>;
export type FailureDetails = Static<typeof AggregationDetails>;
type ErrorDetails = FailureDetails | Static<typeof SentMessages>;

export interface Failure {
  readonly message: string;
  /** A code of the service, or `unreachable`. */
  readonly code: string;
  readonly statusCode: number | undefined;
  readonly details?: FailureDetails | undefined;
  /** The messages that a transaction sent, if one of them has to be chosen. */
  readonly messages?: Static<typeof SentMessages>['messages'] | undefined;
  /** Seconds after which the service may be asked again. */
  readonly retryAfter?: number | undefined;
  readonly requestId?: string | undefined;
}

class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return error.failure;
  return { message: error instanceof Error ? error.message : String(error), code: 'page_error', statusCode: undefined };
}

/** The largest page of the service. */
const PAGE_SIZE = 1_000;
/** Bounds the requests that a wrong answer can cause; no subnet has as many. */
const MAX_PAGES = 20;

/** Client of the service that the page came from. The API key is kept in the tab's storage. */
export class ApiClient {
  /** URL of the service without a slash at the end. */
  readonly origin: string;
  /** Called when an answer says that the key is missing or wrong. */
  onUnauthorized: () => void = () => undefined;

  constructor(base: string) {
    this.origin = base.replace(/\/$/, '');
  }

  get key(): string {
    return sessionStorage.getItem(KEY_NAME) ?? '';
  }

  set key(key: string) {
    if (key === '') sessionStorage.removeItem(KEY_NAME);
    else sessionStorage.setItem(KEY_NAME, key);
  }

  facts(): Promise<ConsoleFacts> {
    return this.#json('/console/facts');
  }

  activity(signal?: AbortSignal): Promise<ActivityBody> {
    return this.#json('/console/activity', { signal });
  }

  /** Returns the body of any status. */
  async readiness(signal?: AbortSignal): Promise<ReadinessBody> {
    const response = await this.#fetch('/health/ready', { signal });
    return (await response.json()) as ReadinessBody;
  }

  examples(): Promise<Example[]> {
    return this.#json('/devnet/examples');
  }

  /** Emits a message on the devnet's C-Chain. */
  async newDevnetMessage(): Promise<string> {
    const { messages } = await this.#json<{ messages: { message: string }[] }>('/devnet/messages', {
      body: { count: 1 },
    });
    return messages[0]?.message ?? '';
  }

  devnetNetwork(): Promise<DevnetNetwork> {
    return this.#json('/devnet/network');
  }

  /** The newest first. An empty filter is left out. */
  async requests(
    filter: { outcome?: string; subnetId?: string; since?: number; limit: number },
    signal?: AbortSignal,
  ): Promise<readonly RequestRecord[]> {
    const given = Object.entries(filter).filter(([, value]) => value !== '');
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const { requests } = await this.#json<{ requests: RequestRecord[] }>(`/v1/requests?${query}`, { signal });
    return requests;
  }

  request(id: string, signal?: AbortSignal): Promise<RequestRecord> {
    return this.#json(`/v1/requests/${encodeURIComponent(id)}`, { signal });
  }

  decode(network: string, data: string, signal?: AbortSignal): Promise<DecodeResult> {
    return this.#json(`${api(network)}/decode`, { body: { data }, signal });
  }

  verify(network: string, body: VerificationBody, signal?: AbortSignal): Promise<VerificationResult> {
    return this.#json(`${api(network)}/verify`, { body, signal });
  }

  destination(network: string, blockchainId: string, signal?: AbortSignal): Promise<DestinationBody> {
    return this.#json(`${api(network)}/destinations/${encodeURIComponent(blockchainId)}`, { signal });
  }

  async subnets(network: string, signal?: AbortSignal): Promise<SubnetListBody['subnets']> {
    const pages = this.#pages<SubnetListBody>(`${api(network)}/subnets`, signal);
    return (await pages).flatMap(({ subnets }) => subnets);
  }

  /** Requests a view with one validator, the smallest page. */
  subnetFigures(network: string, subnetId: string, signal?: AbortSignal): Promise<SubnetViewBody> {
    return this.#json(`${api(network)}/subnets/${encodeURIComponent(subnetId)}?pageSize=1`, { signal });
  }

  /** The view with the validators of all pages. */
  async subnet(network: string, subnetId: string, signal?: AbortSignal): Promise<SubnetViewBody> {
    const pages = await this.#pages<SubnetViewBody>(`${api(network)}/subnets/${encodeURIComponent(subnetId)}`, signal);
    const [first] = pages;
    if (first === undefined) throw new Error('the service gave no page');
    return { ...first, validators: pages.flatMap(({ validators }) => validators) };
  }

  /**
   * Requests a signature and reports the progress. A cached answer, and a proxy that does not stream, have no events.
   *
   * @throws {ApiError}, or the signal's reason
   */
  async sign(
    network: string,
    request: SignRequest,
    onEvent: (event: AggregationEvent) => void,
    signal: AbortSignal,
  ): Promise<SignedMessage> {
    const response = await this.#fetch(pathOf(request, network), {
      ...(request.kind === 'body' && { body: request.body }),
      signal,
      accept: 'text/event-stream, application/json;q=0.5',
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isStream || response.body === null) return this.#answer<SignedMessage>(response);
    const reader = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const event = { event: value.event, data: JSON.parse(value.data) } as AggregationEvent;
      onEvent(event);
      if (event.event === 'result') return event.data;
      if (event.event === 'error')
        throw new ApiError({ ...event.data, ...splitDetails(event.data.details), requestId: requestIdOf(response) });
    }
    const message = 'The connection ended before the answer.';
    throw new ApiError({ message, code: 'unreachable', statusCode: undefined, requestId: requestIdOf(response) });
  }

  async #pages<Page extends { nextPageToken?: string }>(path: string, signal?: AbortSignal): Promise<Page[]> {
    const pages: Page[] = [];
    let query = '';
    do {
      const page = await this.#json<Page>(`${path}?pageSize=${PAGE_SIZE}${query}`, { signal });
      pages.push(page);
      query = page.nextPageToken === undefined ? '' : `&pageToken=${encodeURIComponent(page.nextPageToken)}`;
    } while (query !== '' && pages.length < MAX_PAGES);
    return pages;
  }

  async #json<T>(path: string, options: CallOptions = {}): Promise<T> {
    return this.#answer<T>(await this.#fetch(path, options));
  }

  async #fetch(path: string, { body, signal, accept = 'application/json' }: CallOptions): Promise<Response> {
    const headers = {
      accept,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(this.key !== '' && { [KEY_NAME]: this.key }),
    };
    try {
      return await fetch(`${this.origin}${path}`, {
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
        headers,
        signal: signal ?? null,
        cache: 'no-store',
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const message = 'The service cannot be reached. It may be stopped, or the network between is down.';
      throw new ApiError({ message, code: 'unreachable', statusCode: undefined }, error);
    }
  }

  async #answer<T>(response: Response): Promise<T> {
    const json: unknown = await response.json().catch(() => undefined);
    if (response.ok && json !== undefined) return json as T;
    if (response.status === 401) this.onUnauthorized();
    const body = (typeof json === 'object' && json !== null ? json : {}) as Partial<Failure>;
    const retryAfter = Number(response.headers.get('retry-after') ?? 'none');
    throw new ApiError({
      message: [body.message ?? `The answer has status ${response.status}, and is not JSON.`].flat().join('; '),
      code: body.code ?? 'unreachable',
      statusCode: response.status,
      ...splitDetails(body.details),
      ...(Number.isFinite(retryAfter) && { retryAfter }),
      requestId: requestIdOf(response),
    });
  }
}

interface CallOptions {
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly accept?: string;
}

const KEY_NAME = 'x-service-api-key';

/** Details of an error are what validators did, or what a transaction sent. */
function splitDetails(details: ErrorDetails | undefined): Pick<Failure, 'details' | 'messages'> {
  if (details === undefined) return {};
  return 'messages' in details ? { details: undefined, messages: details.messages } : { details };
}

function requestIdOf(response: Response): string | undefined {
  return response.headers.get('x-request-id') ?? undefined;
}

function api(network: string): string {
  return `/v1/signatureAggregator/${encodeURIComponent(network)}`;
}
