import { ConfigError } from '../../config/schema/config-error.ts';
import { IdentityError } from '../../p2p/identity/identity.ts';
import { usageFailure } from './exit-codes.ts';

/** Converts errors of the configuration to failures of the command; other errors stay unchanged. */
export function asConfigFailure(error: unknown): unknown {
  if (error instanceof ConfigError) return usageFailure(`configuration: ${error.message}`, { cause: error });
  if (error instanceof IdentityError) return usageFailure(`staking identity: ${error.message}`, { cause: error });
  return error;
}
