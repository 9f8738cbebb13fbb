import type { StreamEvent } from './event-stream.ts';
import type {
  AggregateSignaturesOfTransactionQuery,
  AggregationEvent,
  AggregationRequest,
  DecodeRequest,
  DecodeResult,
  Destination,
  GetValidationQuery,
  ListedSubnet,
  ListUptimesQuery,
  RequestRecord,
  SignedMessage,
  SubnetHistory,
  SubnetList,
  SubnetUptimes,
  SubnetView,
  Validation,
  ValidatorHistory,
  VerificationRequest,
  VerificationResult,
} from './gen/api.ts';
import { Caller, type CallerOptions, queryOf } from './http-call.ts';
import { type MessagesOptions, type ReceivedMessage, receiveMessages } from './received-messages.ts';

export interface ClientOptions extends CallerOptions {
  /** Name under which the service serves the network: `mainnet`, `fuji`, or another of its configuration. */
  readonly network: string;
}

export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface SignOptions extends CallOptions {
  /** Seconds, up to 30, in which the transaction may still be accepted and executed. */
  readonly wait?: number | undefined;
  /** Receives the progress of the collection. A cached result has none. An attempt that is repeated begins anew. */
  readonly onProgress?: ((event: AggregationEvent) => void) | undefined;
}

/** Argument of the callback that signs in `@avalanche-sdk/interchain`. */
export interface UnsignedMessageInput {
  /** In hex, as `justificationHex`. */
  readonly unsignedMessageHex: string;
  /** In cb58 or hex. */
  readonly signingSubnetId: string;
  /** Empty, or `0x`, for messages that need none. */
  readonly justificationHex?: string | undefined;
}

type TransactionSettings = Omit<AggregateSignaturesOfTransactionQuery, 'wait'>;
type VerificationSettings = Omit<VerificationRequest, 'signedMessage'>;
type DecodeForm = NonNullable<DecodeRequest['as']>;

/** Largest page of the service, and a bound of the requests that a wrong answer can cause. */
const PAGE_SIZE = 1_000;
const MAX_PAGES = 100;

/** Creates a client of one network of a service. */
export function createClient(options: ClientOptions): SignatureAggregatorClient {
  return new SignatureAggregatorClient(options);
}

/**
 * Calls of a service about one network. Each may be repeated, as the code of its error advises.
 *
 * @throws {SignatureAggregatorError} from each call, or the reason of its signal
 */
export class SignatureAggregatorClient {
  readonly #caller: Caller;
  readonly #path: string;

  constructor(options: ClientOptions) {
    this.#caller = new Caller(options);
    this.#path = `/v1/signatureAggregator/${encodeURIComponent(options.network)}`;
  }

  /** Has a message signed: the unsigned message in hex, or a request with settings. */
  sign(request: string | AggregationRequest, options: SignOptions = {}): Promise<SignedMessage> {
    const body = typeof request === 'string' ? { message: request } : request;
    return this.#sign('/aggregateSignatures', { wait: options.wait }, body, options);
  }

  /**
   * Has a message signed, as the callback of `@avalanche-sdk/interchain`. It can be passed on as it is.
   *
   * @returns the signed message in hex, with `0x`
   */
  readonly aggregateSignatures = async (input: UnsignedMessageInput): Promise<`0x${string}`> => {
    const { unsignedMessageHex: message, signingSubnetId, justificationHex = '' } = input;
    const justification = justificationHex.replace(/^0x$/, '');
    const { signedMessage } = await this.sign({ message, signingSubnetId, justification });
    return `0x${signedMessage}`;
  };

  /** Has the message of a transaction signed: the hash of an EVM transaction, or the ID of one of the P-Chain. */
  signTransaction(txHash: string, settings: TransactionSettings & SignOptions = {}): Promise<SignedMessage> {
    const { signal, onProgress, ...query } = settings;
    return this.#sign(`/aggregateSignatures/${encodeURIComponent(txHash)}`, query, undefined, { signal, onProgress });
  }

  /** Verifies a signed message as a destination would. */
  verify(signedMessage: string, settings: VerificationSettings & CallOptions = {}): Promise<VerificationResult> {
    const { signal, ...rest } = settings;
    return this.#json('/verify', signal, { signedMessage, ...rest });
  }

  /** Reads a message, signed or not, a payload or a justification, in hex. */
  decode(data: string, { as, signal }: { readonly as?: DecodeForm } & CallOptions = {}): Promise<DecodeResult> {
    return this.#json('/decode', signal, { data, ...(as !== undefined && { as }) });
  }

  /** Returns how a blockchain verifies messages. @param blockchainId in cb58 or hex */
  destination(blockchainId: string, { signal }: CallOptions = {}): Promise<Destination> {
    return this.#json(`/destinations/${encodeURIComponent(blockchainId)}`, signal);
  }

  /** Returns the primary network, the tracked subnets, and recently requested ones. */
  async subnets({ signal }: CallOptions = {}): Promise<ListedSubnet[]> {
    const pages = await this.#pages<SubnetList>('/subnets', signal);
    return pages.flatMap(({ subnets }) => subnets);
  }

  /**
   * Returns a subnet with its validators, the heaviest first.
   *
   * @param subnetId in cb58 or hex
   * @param options.validators the most of them; all by default
   */
  async subnet(
    subnetId: string,
    { validators: most = Infinity, signal }: { readonly validators?: number } & CallOptions = {},
  ): Promise<SubnetView> {
    const path = `/subnets/${encodeURIComponent(subnetId)}`;
    const [first, ...others] = await this.#pages<SubnetView>(path, signal, { most });
    const view = { ...first };
    delete view.nextPageToken;
    return { ...view, validators: [first, ...others].flatMap(({ validators }) => validators).slice(0, most) };
  }

  /**
   * Returns what is known of an L1 validation, which of its messages can be signed now, and what comes next.
   *
   * @param validationId in cb58 or hex
   */
  validation(validationId: string, settings: GetValidationQuery & CallOptions = {}): Promise<Validation> {
    const { signal, ...query } = settings;
    return this.#json(`/validations/${encodeURIComponent(validationId)}${queryOf({ ...query })}`, signal);
  }

  /**
   * Returns the highest uptime of each active validator of an L1 that the quorum signs, page by page.
   *
   * @param subnetId in cb58 or hex
   */
  uptimes(subnetId: string, settings: ListUptimesQuery & CallOptions = {}): Promise<SubnetUptimes> {
    const { signal, ...query } = settings;
    return this.#json(`/subnets/${encodeURIComponent(subnetId)}/uptimes${queryOf({ ...query })}`, signal);
  }

  /**
   * Returns what the validators of a tracked subnet did in past collections of signatures, the worst first.
   *
   * @param subnetId in cb58 or hex
   * @param options.since Unix time in milliseconds; a day ago by default
   * @param options.validators the most of them; all by default
   */
  async subnetHistory(
    subnetId: string,
    options: { readonly since?: number; readonly validators?: number } & CallOptions = {},
  ): Promise<SubnetHistory> {
    const { since, validators: most = Infinity, signal } = options;
    const path = `/subnets/${encodeURIComponent(subnetId)}/history`;
    const [first, ...others] = await this.#pages<SubnetHistory>(path, signal, { most, query: { since } });
    const history = { ...first };
    delete history.nextPageToken;
    return { ...history, validators: [first, ...others].flatMap(({ validators }) => validators).slice(0, most) };
  }

  /** Returns what a validator of a tracked subnet did in past collections of signatures, by hour and day. */
  validatorHistory(subnetId: string, nodeId: string, { signal }: CallOptions = {}): Promise<ValidatorHistory> {
    const path = `/subnets/${encodeURIComponent(subnetId)}/validators/${encodeURIComponent(nodeId)}/history`;
    return this.#json(path, signal);
  }

  /** Returns what happened to a request for a signature. @param id its `x-request-id` */
  request(id: string, { signal }: CallOptions = {}): Promise<RequestRecord> {
    return this.#caller.json({ path: `/v1/requests/${encodeURIComponent(id)}`, signal });
  }

  /**
   * Iterates over the messages of watched chains after a cursor, and then over each new one, until the signal aborts. It resumes by itself.
   *
   * @throws {SignatureAggregatorError} `cursor_expired` with the oldest cursor, if messages after the cursor are no longer stored
   */
  messages(options: MessagesOptions = {}): AsyncGenerator<ReceivedMessage> {
    return receiveMessages(this.#caller, `${this.#path}/messages`, options);
  }

  #sign(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    body: AggregationRequest | undefined,
    { signal, onProgress }: SignOptions,
  ): Promise<SignedMessage> {
    const call = { path: `${this.#path}${path}${queryOf(query)}`, body, signal };
    if (onProgress === undefined) return this.#caller.json(call);
    return this.#caller.result(call, ({ event, data }: StreamEvent) => onProgress({ event, data } as AggregationEvent));
  }

  #json<T>(path: string, signal: AbortSignal | undefined, body?: object): Promise<T> {
    return this.#caller.json({ path: `${this.#path}${path}`, body, signal });
  }

  /**
   * @param options.most items that are wanted
   * @param options.query of the first page; later pages have it in their token
   */
  async #pages<Page extends { nextPageToken?: string }>(
    path: string,
    signal: AbortSignal | undefined,
    { most = Infinity, query = {} }: { readonly most?: number; readonly query?: Parameters<typeof queryOf>[0] } = {},
  ): Promise<[Page, ...Page[]]> {
    const pageSize = Math.min(most, PAGE_SIZE);
    const load = (given: typeof query) => this.#json<Page>(`${path}${queryOf({ ...given, pageSize })}`, signal);
    const pages: [Page, ...Page[]] = [await load(query)];
    for (;;) {
      const { nextPageToken } = pages.at(-1) ?? pages[0];
      const isEnough = nextPageToken === undefined || pages.length * pageSize >= most || pages.length === MAX_PAGES;
      if (isEnough) return pages;
      pages.push(await load({ pageToken: nextPageToken }));
    }
  }
}
