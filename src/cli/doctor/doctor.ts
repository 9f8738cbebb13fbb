import packageJson from '../../../package.json' with { type: 'json' };
import { loadConfig } from '../../config/load/load-config.ts';
import type { Config, DevnetConfig, NetworkConfig } from '../../config/settings.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { createIdentity, type Identity, openIdentity } from '../../p2p/identity/identity.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { EXIT, type ExitCode, usageFailure } from '../io/exit-codes.ts';
import { ProgressBar } from '../io/progress-bar.ts';
import { print } from '../io/text.ts';
import { endpointsOf, probeChainRpc, probeEndpoint, rpcsOf } from '../probes/api-probe.ts';
import type { CheckedNetwork, Facts } from '../probes/facts.ts';
import { probeFeedSocket } from '../probes/feed-socket.ts';
import { probeDataApi, probeFileDescriptors, probeRedis, probeUpstreams } from '../probes/machine-probe.ts';
import { DEFAULT_PEER_PROBE_LIMITS, type PeerProbeLimits, probePeers } from '../probes/peer-probe.ts';
import { type DoctorReport, SCHEMA_VERSION } from '../probes/report.ts';
import { openParts } from '../probes/service-checks.ts';
import { completeReport } from './findings.ts';
import { formatReport } from './report-text.ts';

/** Replaces what the machine has, and the waits, in tests. */
export interface DoctorLimits extends PeerProbeLimits {
  readonly fileLimit?: number;
}

export interface DoctorOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly ownIdentity?: boolean;
}

/**
 * Tries a configuration and prints what it found.
 *
 * @returns the exit code of {@link exitCodeOf}
 * @throws {CommandFailure}, {@link ConfigError}, {@link IdentityError}
 */
export async function runDoctor(options: DoctorOptions): Promise<number> {
  const { config } = loadConfig(options.config === undefined ? {} : { config: options.config });
  if (!process.stderr.isTTY) process.stderr.write('trying the configuration, which takes up to a minute\n');
  const report = await diagnose(config, options);
  print(options.json === true ? JSON.stringify(report, undefined, 2) : formatReport(report));
  return exitCodeOf(report);
}

/** Returns 0 if the service works, 1 if something has to be changed, 3 if it may work later. */
export function exitCodeOf({ findings }: Pick<DoctorReport, 'findings'>): ExitCode {
  const severities = findings.map(({ severity }) => severity);
  if (severities.includes('problem')) return EXIT.no;
  return severities.includes('passing') ? EXIT.later : EXIT.done;
}

/** Tries all of a configuration at the same time, each call with a deadline. */
export async function diagnose(
  config: Config,
  options: DoctorOptions,
  limits: DoctorLimits = DEFAULT_PEER_PROBE_LIMITS,
): Promise<DoctorReport> {
  const startedMs = systemClock.monotonicMs();
  const startedAt = new Date(systemClock.now()).toISOString();
  const identity = await findIdentity(config, options.ownIdentity === true);
  using bar = new ProgressBar();
  const say = (text: string): void => bar.say(text);
  const [networks, opened, upstreams, redis] = await Promise.all([
    Promise.all(config.networks.map((network) => diagnoseNetwork(config, network, identity, limits, say))),
    openParts(config),
    probeUpstreams(config.upstream.endpoints),
    probeRedis(config.store.shared),
  ]);
  const validators = networks.map(({ validatorCount }) => validatorCount);
  const facts: Facts = {
    schemaVersion: SCHEMA_VERSION,
    service: {
      version: packageJson.version,
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
    },
    startedAt,
    durationMs: Math.round(systemClock.monotonicMs() - startedMs),
    configuration: options.config ?? 'environment variables and defaults',
    identity: {
      nodeId: identity.nodeID,
      kind: options.ownIdentity === true ? 'configured' : 'temporary',
    },
    networks: networks.map(({ report }) => report),
    opened,
    upstreams,
    ...(redis !== undefined && { redis }),
    fileDescriptors: probeFileDescriptors(config, validators, limits.fileLimit),
  };
  return completeReport(facts);
}

async function findIdentity({ identity }: Config, isOwn: boolean): Promise<Identity> {
  if (!isOwn) return createIdentity();
  if (identity === undefined)
    throw usageFailure('--own-identity: the configuration names no identity; set identity.directory');
  return openIdentity(identity);
}

interface NetworkDiagnosis {
  readonly report: CheckedNetwork;
  readonly validatorCount: number;
}

async function diagnoseNetwork(
  { devnet }: Pick<Config, 'devnet'>,
  configured: NetworkConfig,
  identity: Identity,
  limits: PeerProbeLimits,
  say: (text: string) => void,
): Promise<NetworkDiagnosis> {
  await using opened = new AsyncDisposableStack();
  const isDevnet = configured.name === devnet?.network;
  const network = isDevnet ? await withDevnet(opened, configured, devnet, say) : configured;
  say(`${network.name}: asking its APIs`);
  const sockets = network.feed.chains.flatMap(({ blockchainId, webSocket }) =>
    webSocket === undefined ? [] : [probeFeedSocket(blockchainId, webSocket)],
  );
  const [endpoints, chainRpcs, dataApi, heads, { validatorCount, ...peers }] = await Promise.all([
    Promise.all(endpointsOf(network).map((endpoint) => probeEndpoint(endpoint, network))),
    Promise.all(rpcsOf(network).map((rpc) => probeChainRpc(rpc, network))),
    probeDataApi(network),
    Promise.all(sockets),
    probePeers({ network, identity, limits, say }),
  ]);
  const others = [...chainRpcs.flat(), ...heads, ...(dataApi === undefined ? [] : [dataApi])];
  return { report: { name: network.name, isDevnet, endpoints, others, ...peers }, validatorCount };
}

/** Starts the devnet of the configuration: that of a running service is in its process, and has other ports. */
async function withDevnet(
  opened: AsyncDisposableStack,
  network: NetworkConfig,
  { validators }: NonNullable<DevnetConfig>,
  say: (text: string) => void,
): Promise<NetworkConfig> {
  const { startDevnet } = await import('../../devnet/devnet.ts');
  const devnet = opened.use(
    await startDevnet({
      validators,
      clock: systemClock,
      logger: createLogger('silent'),
      onProgress: (done, total) => say(`starting the devnet: ${done} of ${total} validators`),
    }),
  );
  const endpoints = [{ baseUrl: devnet.apiUrl }];
  return { ...network, pChainApi: endpoints, infoApi: endpoints, trackedSubnetIDs: [devnet.subnets.l1.subnetID] };
}
