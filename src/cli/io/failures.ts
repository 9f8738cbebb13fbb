import { AggregatorError } from '../../aggregation/aggregator-error.ts';
import { ConfigError } from '../../config/schema/config-error.ts';
import { HttpError } from '../../http/errors/http-error.ts';
import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { IdentityError } from '../../p2p/identity/identity.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { CommandFailure, EXIT, usageFailure } from './exit-codes.ts';
import { inOptions, refusalOf } from './service-refusal.ts';

/** Converts an expected error to a message with an exit code; undefined for others, which are bugs. */
export function asFailure(cause: unknown): CommandFailure | undefined {
  if (cause instanceof CommandFailure) return cause;
  if (cause instanceof AggregatorError) return refusalOf(cause);
  if (cause instanceof ConfigError) return usageFailure(`configuration: ${cause.message}`, { cause });
  if (cause instanceof IdentityError) return usageFailure(`staking identity: ${cause.message}`, { cause });
  if (cause instanceof HttpError || cause instanceof ParseError)
    return usageFailure(inOptions(cause.message), { cause });
  if (cause instanceof ApiError) {
    return new CommandFailure(
      EXIT.later,
      `the P-Chain API could not be asked: ${cause.detail ?? cause.message}; check its URL, or try again later`,
      { cause },
    );
  }
  if (cause instanceof DeadlineExceeded || (cause instanceof DOMException && cause.name === 'TimeoutError')) {
    return new CommandFailure(EXIT.later, 'it took too long: try again, or give it more time by --timeout', { cause });
  }
  return undefined;
}
