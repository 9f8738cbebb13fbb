import type { Static } from 'typebox';
import type { FeedMessageRecord, MessagePageBody } from '../../api/feed/feed-records.ts';
import type { ReadinessBody } from '../../api/health/health.ts';
import type { RequestRecord } from '../../api/requests/request-record.ts';
import { createClient, type SignatureAggregatorClient } from '../../client/client.ts';
import { type ErrorDetails, SignatureAggregatorError } from '../../client/client-error.ts';
import type { AggregationDetails, SentMessages } from '../../client/gen/api.ts';
import { API_KEY_HEADER, type Call, Caller, type CallerOptions } from '../../client/http-call.ts';
import type { DevnetNetwork, Example, MessagesSchema } from '../../devnet/devnet-schemas.ts';
import type { ActivityBody } from '../server/activity.ts';
import type { ConsoleFacts } from '../server/console-facts.ts';
import { blockHashMessage } from './input/block-hash-message.ts';

export interface Failure {
  readonly message: string;
  /** A code of the service or of the client, or `page_error`. */
  readonly code: string;
  readonly statusCode: number | undefined;
  readonly details?: AggregationDetails | undefined;
  /** The messages that a transaction sent, if one of them has to be chosen. */
  readonly messages?: SentMessages['messages'] | undefined;
  /** Seconds after which the service may be asked again. */
  readonly retryAfter?: number | undefined;
  readonly requestId?: string | undefined;
}

/** IDs of the chains of the primary network by their names, as far as they are known. */
export type PrimaryChains = Partial<Record<'P' | 'X' | 'C', string>>;

/** `ignored`: the service has no keys. `unknown`: it could not be asked. */
export type KeyVerdict = 'accepted' | 'refused' | 'ignored' | 'unknown';

const KEY_NEEDED = 'This is answered for an API key only: type yours in above.';
const UNREACHABLE = 'The service cannot be reached. It may be stopped, or the network between is down.';

/** What the errors of these codes say to programs is of no use to people in the page. */
const OWN_WORDS: Readonly<Record<string, string>> = { unreachable: UNREACHABLE, unauthorized: KEY_NEEDED };

export function failureOf(error: unknown): Failure {
  if (!(error instanceof SignatureAggregatorError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { message, code: 'page_error', statusCode: undefined };
  }
  const { message, code, status, details, retryAfterMs, requestId } = error;
  return {
    message: OWN_WORDS[code] ?? message,
    code,
    statusCode: status,
    ...partsOf(details),
    ...(retryAfterMs !== undefined && { retryAfter: retryAfterMs / 1_000 }),
    requestId,
  };
}

/** Returns what a failure has of the details of an error. */
export function partsOf(details: ErrorDetails | undefined): Pick<Failure, 'details' | 'messages'> {
  if (details === undefined) return {};
  if ('messages' in details) return { messages: details.messages };
  return 'outcomes' in details ? { details } : {};
}

/** Calls of the service that the page came from. The API key is kept in the tab's storage. */
export class ConsoleApi {
  /** URL of the service without a slash at the end. */
  readonly origin: string;
  /** Called when an answer says that the key is missing or wrong. */
  onUnauthorized: () => void = () => undefined;

  constructor(base: string) {
    this.origin = base.replace(/\/$/, '');
  }

  get key(): string {
    return sessionStorage.getItem(API_KEY_HEADER) ?? '';
  }

  set key(key: string) {
    if (key === '') sessionStorage.removeItem(API_KEY_HEADER);
    else sessionStorage.setItem(API_KEY_HEADER, key);
  }

  /** Returns the client of a network, with the key at present. */
  of(network: string): SignatureAggregatorClient {
    return createClient({ ...this.#options(), network });
  }

  /** Asks whether the service knows the key. A service without keys takes any, so it is asked without one, too. */
  async checkKey(): Promise<KeyVerdict> {
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${this.origin}/v1/requests?limit=1`, { headers, cache: 'no-store' })).status;
    try {
      if ((await statusOf({ [API_KEY_HEADER]: this.key })) === 401) return 'refused';
      const status = await statusOf({});
      if (status === 401) return 'accepted';
      return status === 200 || status === 403 ? 'ignored' : 'unknown';
    } catch {
      return 'unknown';
    }
  }

  facts(): Promise<ConsoleFacts> {
    return this.#json({ path: '/console/facts' });
  }

  chains(network: string): Promise<PrimaryChains> {
    return this.#json({ path: `/console/chains/${encodeURIComponent(network)}` });
  }

  activity(signal?: AbortSignal): Promise<ActivityBody> {
    return this.#json({ path: '/console/activity', signal });
  }

  /** Returns the body of any status. */
  async readiness(signal?: AbortSignal): Promise<ReadinessBody> {
    const asked = fetch(`${this.origin}/health/ready`, { signal: signal ?? null, cache: 'no-store' });
    const response = await asked.catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new SignatureAggregatorError(UNREACHABLE, { code: 'unreachable', cause });
    });
    return (await response.json()) as ReadinessBody;
  }

  examples(): Promise<Example[]> {
    return this.#json({ path: '/devnet/examples' });
  }

  /** Makes a new block on the devnet's C-Chain; returns the message with its hash. */
  async newDevnetMessage(): Promise<string> {
    const call = { path: '/devnet/messages', body: { count: 1 } };
    const { messages } = await this.#json<Static<typeof MessagesSchema>>(call);
    const [emitted] = messages;
    return emitted === undefined ? '' : blockHashMessage(emitted.message, emitted.block.hash);
  }

  devnetNetwork(): Promise<DevnetNetwork> {
    return this.#json({ path: '/devnet/network' });
  }

  /** The newest first. An empty filter is left out. */
  async requests(
    filter: Readonly<Record<string, string | number>>,
    signal?: AbortSignal,
  ): Promise<readonly RequestRecord[]> {
    const given = Object.entries(filter).filter(([, value]) => value !== '');
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const { requests } = await this.#json<{ requests: RequestRecord[] }>({ path: `/v1/requests?${query}`, signal });
    return requests;
  }

  request(id: string, signal?: AbortSignal): Promise<RequestRecord> {
    return this.#json({ path: `/v1/requests/${encodeURIComponent(id)}`, signal });
  }

  /** Undefined if it is not known, or not shown to this visitor, who is not asked for a key. */
  async knownRequest(id: string, signal: AbortSignal): Promise<RequestRecord | undefined> {
    const headers: Record<string, string> = this.key === '' ? {} : { [API_KEY_HEADER]: this.key };
    const response = await fetch(`${this.origin}/v1/requests/${encodeURIComponent(id)}`, { headers, signal });
    return response.ok ? ((await response.json()) as RequestRecord) : undefined;
  }

  /** An empty filter is left out. */
  messages(
    network: string,
    query: Readonly<Record<string, string | number>>,
    signal?: AbortSignal,
  ): Promise<MessagePageBody> {
    const given = Object.entries(query).filter(([, value]) => value !== '');
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    return this.#json({ path: `${messagesPath(network)}?${text}`, signal });
  }

  message(network: string, messageId: string, signal?: AbortSignal): Promise<FeedMessageRecord> {
    return this.#json({ path: `${messagesPath(network)}/${encodeURIComponent(messageId)}`, signal });
  }

  #json<T>(call: Call): Promise<T> {
    return new Caller(this.#options()).json(call);
  }

  /** The page shows failures at once: people decide about a repetition. */
  #options(): CallerOptions {
    return { baseUrl: this.origin, apiKey: this.key, maxRetries: 0, fetch: this.#fetch };
  }

  readonly #fetch: typeof fetch = async (...parameters) => {
    const response = await fetch(...parameters);
    if (response.status === 401) this.onUnauthorized();
    return response;
  };
}

function messagesPath(network: string): string {
  return `/v1/signatureAggregator/${encodeURIComponent(network)}/messages`;
}
