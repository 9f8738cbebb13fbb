import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import { mayStatusPass, parseRetryAfterMs, sentenceOf, shortened } from '../../lib/net/http-failure.ts';
import { type OpenHttp, openHttpPool } from '../../lib/net/http-port.ts';
import { describeTransportError, rethrowMisuse } from '../../lib/net/transport-error.ts';
import type { TxID, ValidationID } from '../../warp/ids.ts';
import { parseExactJson } from '../codec/exact-json.ts';
import { readArray, readId, readObject } from '../codec/json-fields.ts';
import { ApiError } from './api-error.ts';
import { readBody, readErrorBody } from './read-body.ts';

export type DataApi = ReturnType<typeof createDataApi>;

export interface DataApiOptions {
  readonly endpoint: ApiEndpoint;
  /** `mainnet` or `fuji`. */
  readonly network: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly openHttp?: OpenHttp;
}

const PAGE_SIZE = 10;
/** Ten transactions with their UTXOs take some KB each. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const MAX_CONNECTIONS = 4;

export function createDataApi(options: DataApiOptions) {
  const { network, clock, timeoutMs, openHttp = openHttpPool } = options;
  const address = new EndpointAddress(options.endpoint);
  const http = openHttp(address.origin, { connections: MAX_CONNECTIONS, connectTimeout: timeoutMs });

  async function read(query: URLSearchParams, signal: AbortSignal): Promise<string> {
    const { statusCode, headers, body } = await http.request({
      method: 'GET',
      path: address.path(`/v1/networks/${network}/blockchains/p-chain/transactions?${query}`),
      headers: address.headers,
      signal,
    });
    if (statusCode !== 200) {
      const sentence = sentenceOf(await readErrorBody(body));
      const describe = (redacted: string | undefined): string =>
        `answered HTTP status ${statusCode}${redacted === undefined ? '' : `: ${shortened(redacted)}`}`;
      const kind = mayStatusPass(statusCode) ? 'unavailable' : 'invalid_response';
      throw new ApiError(kind, `the data API ${describe(sentence && address.redactHost(sentence))}`, {
        detail: `the data API at ${address.host} ${describe(sentence && address.redact(sentence))}`,
        retryAfterMs: parseRetryAfterMs(headers['retry-after'], clock.now()),
      });
    }
    return readBody(body, MAX_RESPONSE_BYTES);
  }

  return {
    /**
     * Returns the IDs of the oldest transactions of an L1 validation, including the one that started it. The caller reads the transactions
     * from a node.
     *
     * @throws {ApiError}, or the signal's reason
     */
    async transactionsOf(validationID: ValidationID, signal: AbortSignal): Promise<readonly TxID[]> {
      using deadline = startDeadline(clock, timeoutMs, 'asking the data API', signal);
      const pageSize = String(PAGE_SIZE);
      const query = new URLSearchParams({ l1ValidationId: validationID, sortOrder: 'asc', pageSize });
      try {
        const reply = readObject(parseExactJson(await read(query, deadline.signal), 'data API'), 'data API');
        // The caller reads each from the node, so the page size is enforced here.
        return readArray(reply.transactions, 'transactions')
          .slice(0, PAGE_SIZE)
          .map((transaction) => readId<TxID>(readObject(transaction, 'transaction').txHash, 'txHash'));
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof ApiError) throw cause;
        rethrowMisuse(cause);
        const isResponse = cause instanceof ParseError;
        const reason = isResponse ? cause.message : 'no response';
        throw new ApiError(isResponse ? 'invalid_response' : 'unavailable', `the data API: ${reason}`, {
          cause,
          detail: `the data API at ${address.host}: ${describeTransportError(cause)}`,
        });
      }
    },
    [Symbol.asyncDispose]: () => http.destroy(),
  };
}
