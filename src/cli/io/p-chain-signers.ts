import { settingsOf } from '../../aggregation/request/aggregation-request.ts';
import { createDestinations } from '../../aggregation/signers/destination-facts.ts';
import { findDestination, type VerificationRequest } from '../../aggregation/signers/message-verifier.ts';
import type { SigningPlan } from '../../aggregation/signers/signing-plan.ts';
import { createSigningResolver } from '../../aggregation/signers/signing-resolver.ts';
import { createAddresseeFinder } from '../../aggregation/transactions/message-addressee.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { createChainApi } from '../../pchain/rpc/chain-api.ts';
import { createEvmApi } from '../../pchain/rpc/evm-api.ts';
import { createJsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { createNodeApi } from '../../pchain/rpc/node-api.ts';
import { createEpochs } from '../../pchain/state/epochs.ts';
import { createSubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { createValidatorSets } from '../../pchain/state/validator-sets.ts';
import { createWarpConfigs } from '../../pchain/state/warp-configs.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { createWarpSet } from '../../validators/warp-set.ts';

export interface PChainSigners extends SigningPlan {
  readonly networkID: number;
}

/**
 * Resolves the signing validator set of a message through a node's API, like the service does.
 *
 * @throws {AggregatorError}, {@link ApiError}, or the signal's reason
 */
export async function askPChainSigners(
  baseUrl: string,
  { message, ...given }: VerificationRequest,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<PChainSigners> {
  const settings = settingsOf(given);
  const clock = systemClock;
  await using client = createJsonRpcClient({
    endpoints: [{ baseUrl }],
    clock,
    random: Math.random,
    metrics: createUnreadMetrics(),
    limits: { attemptTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs },
  });
  const api = createNodeApi(client, client);
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map() });
  const { unsignedMessage } = message;
  // The caller compares it with the network's.
  const { networkID: claimedID } = unsignedMessage;
  const directory = createSubnetDirectory({ api, networkID: claimedID, clock });
  const resolver = createSigningResolver({
    networkID: claimedID,
    directory,
    destinations: createDestinations({ directory, warpConfigs: createWarpConfigs(evm, clock) }),
    validatorSets: createValidatorSets({ api, clock, build: createWarpSet }),
    epochs: createEpochs({ api: createChainApi(client), networkID: claimedID, clock }),
    // Balances do not matter for existing signatures.
    funds: { soonInactive: async () => new Set(), knownSoonInactive: () => new Set() },
    clock,
    resolveTimeoutMs: timeoutMs,
  });
  const addresseeOf = createAddresseeFinder({ api, directory, candidates: () => [] });
  const networkID = await api.getNetworkID(signal);
  const destination = await findDestination(unsignedMessage, given, { addresseeOf }, signal);
  const asked = {
    ...settings,
    destination,
    signingSubnetID: given.signingSubnetID,
    message: unsignedMessage,
    justification: new Uint8Array(),
  };
  return { networkID, ...(await resolver.resolve(asked, signal)) };
}
