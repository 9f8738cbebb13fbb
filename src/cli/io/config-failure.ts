import { ConfigError } from '../../config/schema/config-error.ts';
import { IdentityError } from '../../p2p/identity/identity.ts';
import { usageFailure } from '../exit-codes.ts';

/** What is wrong with the configuration, as the failure that it is; any other error as it came. */
export function asConfigFailure(error: unknown): unknown {
  if (error instanceof ConfigError) return usageFailure(`configuration: ${error.message}`, { cause: error });
  if (error instanceof IdentityError) return usageFailure(`staking identity: ${error.message}`, { cause: error });
  return error;
}
