import type { Clock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { Exchange, ExchangeError } from '../../lib/net/exchange.ts';
import type { OpenHttp } from '../../lib/net/http-port.ts';
import type { TxID, ValidationID } from '../../warp/ids.ts';
import { parseExactJson } from '../codec/exact-json.ts';
import { readArray, readId, readObject } from '../codec/json-fields.ts';
import { ApiError } from './api-error.ts';

export interface DataApi extends AsyncDisposable {
  /**
   * Returns the IDs of the oldest transactions of an L1 validation, including the one that started it. The caller reads the transactions
   * from a node.
   *
   * @throws {ApiError}, or the signal's reason
   */
  transactionsOf(validationID: ValidationID, signal: AbortSignal): Promise<readonly TxID[]>;
}

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

export function createDataApi({ endpoint, network, clock, timeoutMs, openHttp }: DataApiOptions): DataApi {
  const exchange = new Exchange(endpoint, {
    clock,
    openHttp,
    connections: MAX_CONNECTIONS,
    connectTimeout: timeoutMs,
  });

  return {
    async transactionsOf(validationID, signal) {
      const pageSize = String(PAGE_SIZE);
      const query = new URLSearchParams({ l1ValidationId: validationID, sortOrder: 'asc', pageSize });
      try {
        return await exchange.read({
          method: 'GET',
          target: `/v1/networks/${network}/blockchains/p-chain/transactions?${query}`,
          signal,
          timeoutMs,
          maxBytes: MAX_RESPONSE_BYTES,
          parse: readTransactionIDs,
        });
      } catch (error) {
        if (!(error instanceof ExchangeError)) throw error;
        const { mayPass, message, detail = message, cause, retryAfterMs } = error;
        throw new ApiError(mayPass ? 'unavailable' : 'invalid_response', `the data API: ${message}`, {
          cause,
          detail: `the data API at ${exchange.address.host}: ${detail}`,
          retryAfterMs,
        });
      }
    },
    [Symbol.asyncDispose]: () => exchange[Symbol.asyncDispose](),
  };
}

/** The caller reads each transaction from the node, so the page size is enforced. @throws {ParseError} */
function readTransactionIDs(text: string): TxID[] {
  const { transactions } = readObject(parseExactJson(text, 'data API'), 'data API');
  return readArray(transactions, 'transactions')
    .slice(0, PAGE_SIZE)
    .map((transaction) => readId<TxID>(readObject(transaction, 'transaction').txHash, 'txHash'));
}
