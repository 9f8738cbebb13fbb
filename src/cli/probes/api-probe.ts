import pLimit from 'p-limit';
import { maskedBaseUrl } from '../../config/schema/mask.ts';
import type { NetworkConfig } from '../../config/settings.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { formatVersion } from '../../p2p/connection/handshake.ts';
import type { EvmChainID } from '../../pchain/rpc/evm-api.ts';
import { createJsonRpcClient, type JsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { parseValidatorsAt } from '../../pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import {
  type ApiFacts,
  type AskedNetwork,
  chainRpcChecks,
  heightChecks,
  infoChecks,
  isWatched,
  nodeChecks,
} from './api-checks.ts';
import {
  CALL_TIMEOUT_MS,
  type CallResult,
  type Check,
  type CheckedCall,
  runCheck,
  skipCheck,
  skipped,
  tryCall,
} from './check.ts';
import type { CheckedEndpoint, CheckedPlace } from './facts.ts';
import { probeHttpClock } from './http-clock.ts';
import type { HeightReport } from './report.ts';

/** Calls at one endpoint at a time: public APIs limit them. */
const CALLS_AT_ONCE = 3;
/** Heights below the proposed one. */
const DEPTHS = [0, 10, 100, 1_000, 100_000];
const SET_BYTES = 16 * 1024 * 1024;

interface NamedEndpoint {
  readonly name: string;
  readonly endpoint: ApiEndpoint;
  readonly isPChain: boolean;
  readonly isInfo: boolean;
}

/** Returns the endpoints of the P-Chain and info API, each once. */
export function endpointsOf({ pChainApi, infoApi }: Pick<NetworkConfig, 'pChainApi' | 'infoApi'>): NamedEndpoint[] {
  const byContent = new Map<string, { names: string[]; endpoint: ApiEndpoint; isPChain: boolean; isInfo: boolean }>();
  for (const [setting, endpoints] of Object.entries({ pChainApi, infoApi })) {
    for (const [index, endpoint] of endpoints.entries()) {
      const key = JSON.stringify(endpoint);
      const known = byContent.get(key) ?? { names: [], endpoint, isPChain: false, isInfo: false };
      byContent.set(key, known);
      known.names.push(`${setting}[${index}]`);
      if (setting === 'pChainApi') known.isPChain = true;
      else known.isInfo = true;
    }
  }
  return Array.from(byContent.values(), ({ names, ...rest }) => ({ ...rest, name: names.join(', ') }));
}

/** Tries each call that the service uses at one endpoint, alone, so that no other one hides its failures. */
export async function probeEndpoint(
  { name, endpoint, isPChain, isInfo }: NamedEndpoint,
  network: AskedNetwork,
): Promise<CheckedEndpoint> {
  await using client = openSingleClient(endpoint);
  const limit = pLimit(CALLS_AT_ONCE);
  const facts: ApiFacts = {};
  const runAll = (checks: readonly Check[]): Promise<CheckedCall[]> =>
    Promise.all(checks.map((check) => limit(() => runCheck(check))));

  // A silent endpoint would take its timeout for each call.
  const runRest = (first: readonly CheckedCall[], rest: readonly Check[]): Promise<CheckedCall[]> | CheckedCall[] =>
    isUnavailable(first) ? rest.map((check) => skipCheck(check, 'the endpoint is unavailable')) : runAll(rest);

  const callInfo = async (): Promise<readonly CheckedCall[]> => {
    const [ofNetwork, ...others] = infoChecks(client, facts) as [Check, ...Check[]];
    const first = await runAll([ofNetwork]);
    return [...first, ...(await runRest(first, others))];
  };
  const callPChain = async (): Promise<Pick<CheckedEndpoint, 'calls' | 'heights'>> => {
    const first = await runAll(heightChecks(client, facts));
    const [rest, heights] = await Promise.all([
      runRest(first, nodeChecks(client, facts, network)),
      isUnavailable(first) ? [] : probeHeights(client, facts.proposedHeight, (call) => limit(call)),
    ]);
    return { calls: [...first, ...rest], heights };
  };

  const [ofInfo, ofPChain, clockOffsetMs] = await Promise.all([
    isInfo ? callInfo() : [],
    isPChain ? callPChain() : { calls: [], heights: [] },
    probeHttpClock(endpoint),
  ]);
  const { networkID, version } = facts;
  return {
    name,
    url: maskedBaseUrl(endpoint.baseUrl),
    ...(networkID !== undefined && { networkId: networkID }),
    ...(version !== undefined && { version: formatVersion(version) }),
    ...(clockOffsetMs !== undefined && { clockOffsetMs }),
    calls: [...ofInfo, ...ofPChain.calls],
    heights: ofPChain.heights,
  };
}

function isUnavailable(calls: readonly CheckedCall[]): boolean {
  return calls.every(({ outcome }) => outcome === 'unavailable');
}

/** Reads the set of the primary network as it is at several heights. Each form is asked for itself, without the client's fallback. */
function probeHeights(
  client: JsonRpcClient,
  proposed: bigint | undefined,
  limit: (call: () => Promise<CallResult>) => Promise<CallResult>,
): Promise<HeightReport[]> {
  const method = 'platform.getValidatorsAt';
  const read = (height: bigint | 'proposed'): Promise<CallResult> =>
    limit(() =>
      tryCall((signal) =>
        client.call({
          path: '/ext/bc/P',
          method,
          params: { subnetID: PRIMARY_NETWORK_ID, height },
          parseResult: (answer) => parseValidatorsAt(answer).length,
          maxResponseBytes: SET_BYTES,
          signal,
        }),
      ),
    );
  const atDepth = async (depth: number): Promise<HeightReport> => {
    const base = { method, form: 'number', depth } as const;
    if (proposed === undefined) return { ...base, ...skipped('the proposed height is not known') };
    if (proposed < BigInt(depth)) return { ...base, ...skipped('the chain is shorter') };
    return { ...base, ...(await read(proposed - BigInt(depth))) };
  };
  const byName = async (): Promise<HeightReport> => ({
    method,
    form: 'proposed',
    depth: 0,
    ...(await read('proposed')),
  });
  return Promise.all([byName(), ...DEPTHS.map(atDepth)]);
}

interface NamedRpc {
  readonly name: string;
  readonly chain: EvmChainID;
  readonly endpoint: ApiEndpoint;
}

/** Returns the endpoints of the RPCs of EVM chains that the configuration names. */
export function rpcsOf({ chainRpc }: Pick<NetworkConfig, 'chainRpc'>): NamedRpc[] {
  return [...chainRpc].flatMap(([chain, endpoints]) =>
    endpoints.map((endpoint, index) => {
      const name = `chainRpc.${chain}${endpoints.length === 1 ? '' : `[${index}]`}`;
      return { name, chain, endpoint };
    }),
  );
}

/** Tries the RPC of an EVM chain that the configuration names. */
export async function probeChainRpc(
  { name, chain, endpoint }: NamedRpc,
  network: AskedNetwork,
): Promise<readonly CheckedPlace[]> {
  await using client = openSingleClient(endpoint);
  const place = { name, url: maskedBaseUrl(endpoint.baseUrl) };
  const calls = await Promise.all(chainRpcChecks(client, chain, isWatched(network, chain)).map(runCheck));
  return calls.map((call) => ({ ...place, ...call }));
}

function openSingleClient(endpoint: ApiEndpoint): JsonRpcClient {
  return createJsonRpcClient({
    endpoints: [endpoint],
    clock: systemClock,
    random: Math.random,
    metrics: createUnreadMetrics(),
    limits: { attemptTimeoutMs: CALL_TIMEOUT_MS, callTimeoutMs: CALL_TIMEOUT_MS, maxRounds: 1 },
  });
}
