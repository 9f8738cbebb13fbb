import { settingsOf } from '../../aggregation/request/aggregation-request.ts';
import type { VerificationRequest } from '../../aggregation/request/message-verifier.ts';
import { createSigningResolver, type Signing } from '../../aggregation/request/signing-resolver.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { createChainApi } from '../../pchain/rpc/chain-api.ts';
import { createJsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { createNodeApi } from '../../pchain/rpc/node-api.ts';
import { createEpochHeights } from '../../pchain/state/epoch-heights.ts';
import { createSubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { createValidatorSets } from '../../pchain/state/validator-sets.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { createWarpSet } from '../../validators/warp-set.ts';

export interface PChainSigners extends Signing {
  readonly networkID: number;
}

/**
 * Resolves the signing validator set of a message through a node's API, like the service does.
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
    clock,
    random: Math.random,
    metrics: createUnreadMetrics(),
    limits: { attemptTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs },
  });
  const api = createNodeApi(client, client);
  const { unsignedMessage } = message;
  const resolver = createSigningResolver({
    // The caller compares it with the network's.
    networkID: unsignedMessage.networkID,
    directory: createSubnetDirectory(api, clock),
    validatorSets: createValidatorSets({ api, clock, build: createWarpSet }),
    epochs: createEpochHeights(createChainApi(client), clock),
    // Balances do not matter for existing signatures.
    funds: { soonInactive: async () => new Set(), knownSoonInactive: () => new Set() },
    clock,
    resolveTimeoutMs: timeoutMs,
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
