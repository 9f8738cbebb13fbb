import { aggregationLimits } from '../../aggregation/aggregation-limits.ts';
import { openBlsService } from '../../bls/service/bls-service.ts';
import { loadConfig } from '../../config/load/load-config.ts';
import type { Config, NetworkConfig } from '../../config/settings.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { createServedNetwork, type ServedNetwork } from '../../network/served-network.ts';
import { createIdentity, openIdentity } from '../../p2p/identity/identity.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { usageFailure } from '../io/exit-codes.ts';
import { chooseNetwork } from '../io/service-client.ts';
import { percentOf } from '../io/text.ts';

/**
 * Opens a network of the configuration for one command. It uses the configured identity, because some validators admit only listed nodes,
 * but neither the store nor the Redis, which belong to running services.
 *
 * @throws {CommandFailure}, {@link ConfigError}, {@link IdentityError}
 */
export async function openOwnNetwork(
  opened: AsyncDisposableStack,
  file: string,
  name: string | undefined,
  networkID: number | undefined,
): Promise<ServedNetwork> {
  const { config } = loadConfig({ config: file });
  const network =
    name === undefined ? chooseNetwork('the configuration', config.networks, networkID) : networkNamed(config, name);
  if (network.name === config.devnet?.network) {
    throw usageFailure(
      `${network.name} is the devnet, which runs in the service: start it with \`serve\`, and use --url`,
    );
  }
  const identity = config.identity ? await openIdentity(config.identity) : createIdentity();
  const logger = createLogger('silent');
  const ports = { logger, clock: systemClock, random: Math.random, metrics: createUnreadMetrics() };
  const bls = opened.use(await openBlsService({ ...config.bls, auditPercentage: 0, ...ports }));
  const served = opened.use(
    createServedNetwork({
      network,
      identity,
      ...ports,
      aggregation: aggregationLimits(config.aggregation),
      bls,
      shared: undefined,
      storePath: undefined,
      recordValidators: false,
    }),
  );
  served.open();
  bls.start();
  return served;
}

/** A thousand validators are connected within about ten seconds; a request may need fewer. */
const START_MS = 15_000;
const POLL_MS = 50;

/**
 * Waits until enough validators are connected, or more waiting is useless; requests then report the reason.
 *
 * @throws the signal's reason
 */
export async function untilStarted(
  network: ServedNetwork,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<void> {
  const untilMs = systemClock.monotonicMs() + START_MS;
  for (;;) {
    const { status, reason, subnets } = network.readiness();
    if (status !== 'starting' || systemClock.monotonicMs() > untilMs) return;
    const connected = subnets[0]?.connected;
    const share = connected && percentOf(connected.weight, connected.totalWeight);
    say(share === undefined ? (reason ?? 'connecting') : `connecting to validators: ${share} of the weight`);
    await Promise.race([sleep(systemClock, POLL_MS, signal), network.failed]);
  }
}

function networkNamed({ networks }: Config, name: string): NetworkConfig {
  const found = networks.find((network) => [network.name, ...network.aliases].includes(name));
  if (found !== undefined) return found;
  throw usageFailure(
    `the configuration has no network ${name}; it has ${networks.map((network) => network.name).join(', ')}`,
  );
}
