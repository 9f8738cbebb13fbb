import { aborted } from '../../../src/lib/concurrency/deadline.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';

/** The answer of a node that does not find what it was asked for. */
/** No API serves the method. */
export const METHOD_REFUSED = new ApiError('method_refused', 'the method does not exist');
export const NOT_FOUND = new ApiError('rejected', 'refused', { rejection: { code: -32_000, message: 'not found' } });

/** A call without an answer. */
export async function hang(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw signal.reason;
}
