import { settingsOf } from '../aggregator/aggregation-request.ts';
import type { VerificationRequest } from '../aggregator/message-verifier.ts';
import { createSigningResolver, type Signing } from '../aggregator/signing-resolver.ts';
import { createChainApi } from '../pchain/chain-api.ts';
import { createEpochHeights } from '../pchain/epoch-heights.ts';
import { createJsonRpcClient } from '../pchain/json-rpc.ts';
import { createNodeApi } from '../pchain/node-api.ts';
import { createSubnetDirectory } from '../pchain/subnet-directory.ts';
import { createValidatorSets } from '../pchain/validator-sets.ts';
import { systemClock } from '../primitives/clock.ts';
import { createUnreadMetrics } from '../telemetry/metrics.ts';
import { createWarpSet } from '../validators/warp-set.ts';

export interface PChainSigners extends Signing {
  readonly networkID: number;
}

/**
 * Who has to have signed a message, asked of a node's API in the way of the service.
 *
 * @throws {AggregatorError}, {@link ApiError}, or the signal's reason
 */
export async function askPChainSigners(
  baseUrl: string,
  { message, signingSubnetID, destinationChainID, ...request }: VerificationRequest,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<PChainSigners> {
  const settings = settingsOf({ ...request, destinationChainID });
  const clock = systemClock;
  await using client = createJsonRpcClient({
    endpoints: [{ baseUrl }],
    ...{ clock, random: Math.random, metrics: createUnreadMetrics() },
    limits: { attemptTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs },
  });
  const api = createNodeApi(client, client);
  const { unsignedMessage } = message;
  const resolver = createSigningResolver({
    // That of the message is judged with the signature.
    networkID: unsignedMessage.networkID,
    directory: createSubnetDirectory(api, clock),
    validatorSets: createValidatorSets({ api, clock, build: createWarpSet }),
    epochs: createEpochHeights(createChainApi(client), clock),
    // Who signed has signed, whatever they can pay for.
    funds: { soonInactive: async () => new Set(), knownSoonInactive: () => new Set() },
    ...{ clock, resolveTimeoutMs: timeoutMs },
  });
  const networkID = await api.getNetworkID(signal);
  const destination = destinationChainID && { chainID: destinationChainID, isRequired: true };
  const asked = {
    ...settings,
    destination,
    signingSubnetID,
    message: unsignedMessage,
    justification: new Uint8Array(),
  };
  return { networkID, ...(await resolver.resolve(asked, signal)) };
}
