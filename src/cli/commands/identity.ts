import type { Config } from '../../config/settings.ts';
import { IdentityError, openIdentity } from '../../p2p/identity/identity.ts';

/**
 * The NodeID that L1s put on their list. An identity that is not there yet is made, so that it is known before the first start.
 *
 * @throws {IdentityError}
 */
export async function nodeIDOf({ identity }: Config): Promise<string> {
  if (identity === undefined) {
    throw new IdentityError(
      'none is configured, so each start has a new one; set identity.directory, such as ' +
        'SIGNATURE_AGGREGATOR_IDENTITY__DIRECTORY=/var/lib/aggregator/identity',
    );
  }
  return (await openIdentity(identity)).nodeID;
}
