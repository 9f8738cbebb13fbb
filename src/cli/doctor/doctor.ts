import packageJson from '../../../package.json' with { type: 'json' };
import { loadConfig } from '../../config/load/load-config.ts';
import type { Config, NetworkConfig } from '../../config/settings.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { createIdentity, type Identity, openIdentity } from '../../p2p/identity/identity.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { EXIT, usageFailure } from '../io/exit-codes.ts';
import { ProgressBar } from '../io/progress-bar.ts';
import { print } from '../io/text.ts';
import { endpointsOf, probeChainRpc, probeEndpoint } from './api-probe.ts';
import type { CheckedNetwork, Facts } from './facts.ts';
import { completeReport } from './findings.ts';
import { probeDataApi, probeFileDescriptors, probeRedis, probeUpstreams } from './machine-probe.ts';
import { DEFAULT_PEER_PROBE_LIMITS, type PeerProbeLimits, probePeers } from './peer-probe.ts';
import { type DoctorReport, SCHEMA_VERSION } from './report.ts';
import { formatReport } from './report-text.ts';

export interface DoctorOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly ownIdentity?: boolean;
}

/**
 * Tries a configuration and prints what it found.
 *
 * @returns 0 if the service works, 1 if something has to be changed, 3 if it may work later
 * @throws {CommandFailure}, {@link ConfigError}, {@link IdentityError}
 */
export async function runDoctor(options: DoctorOptions): Promise<number> {
  const { config } = loadConfig(options.config === undefined ? {} : { config: options.config });
  if (!process.stderr.isTTY) process.stderr.write('trying the configuration, which takes up to a minute\n');
  const report = await diagnose(config, options);
  print(options.json === true ? JSON.stringify(report, undefined, 2) : formatReport(report));
  const severities = report.findings.map(({ severity }) => severity);
  if (severities.includes('problem')) return EXIT.no;
  return severities.includes('passing') ? EXIT.later : EXIT.done;
}

/** Tries all of a configuration at the same time, each call with a deadline. */
export async function diagnose(
  config: Config,
  options: DoctorOptions,
  limits: PeerProbeLimits = DEFAULT_PEER_PROBE_LIMITS,
): Promise<DoctorReport> {
  const startedMs = systemClock.monotonicMs();
  const startedAt = new Date(systemClock.now()).toISOString();
  const identity = await findIdentity(config, options.ownIdentity === true);
  using bar = new ProgressBar();
  const say = (text: string): void => bar.say(text);
  const [networks, upstreams, redis] = await Promise.all([
    Promise.all(config.networks.map((network) => diagnoseNetwork(network, identity, limits, say))),
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
    upstreams,
    ...(redis !== undefined && { redis }),
    fileDescriptors: probeFileDescriptors(config, validators),
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
  configured: NetworkConfig,
  identity: Identity,
  limits: PeerProbeLimits,
  say: (text: string) => void,
): Promise<NetworkDiagnosis> {
  await using opened = new AsyncDisposableStack();
  const network = await withDevnet(opened, configured, say);
  say(`${network.name}: asking its APIs`);
  const [endpoints, chainRpcs, dataApi, { validatorCount, ...peers }] = await Promise.all([
    Promise.all(endpointsOf(network).map((endpoint) => probeEndpoint(endpoint, network))),
    Promise.all(Array.from(network.chainRpc, ([chain, endpoint]) => probeChainRpc(chain, endpoint))),
    probeDataApi(network),
    probePeers({ network, identity, limits, say }),
  ]);
  const others = [...chainRpcs.flat(), ...(dataApi === undefined ? [] : [dataApi])];
  const isDevnet = configured.embedded !== undefined;
  return { report: { name: network.name, isDevnet, endpoints, others, ...peers }, validatorCount };
}

/** Starts the devnet of the configuration: that of a running service is in its process, and has other ports. */
async function withDevnet(
  opened: AsyncDisposableStack,
  network: NetworkConfig,
  say: (text: string) => void,
): Promise<NetworkConfig> {
  if (network.embedded === undefined) return network;
  const { startDevnet } = await import('../../devnet/devnet.ts');
  const devnet = opened.use(
    await startDevnet({
      validators: network.embedded.validators,
      clock: systemClock,
      logger: createLogger('silent'),
      onProgress: (done, total) => say(`starting the devnet: ${done} of ${total} validators`),
    }),
  );
  const endpoints = [{ baseUrl: devnet.apiUrl }];
  return { ...network, pChainApi: endpoints, infoApi: endpoints, trackedSubnetIDs: [devnet.subnets.l1.subnetID] };
}
