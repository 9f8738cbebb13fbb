import { loadBackend } from '../../bls/backends/load-backend.ts';
import { createBlsService } from '../../bls/service/aggregation.ts';
import { openWorkerPool } from '../../bls/service/worker-pool.ts';
import { loadConfig } from '../../config/load/load-config.ts';
import type { Config, NetworkConfig } from '../../config/settings.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { createServedNetwork, type ServedNetwork } from '../../network/served-network.ts';
import { createIdentity, type Identity, openIdentity } from '../../p2p/identity/identity.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { usageFailure } from '../exit-codes.ts';
import { asConfigFailure } from '../io/config-failure.ts';
import { chosenName } from '../io/network-choice.ts';
import { percentOf } from '../io/text.ts';

/**
 * A network of the configuration, in this process and for one command. It keeps nothing: files and a Redis that the configuration
 * names belong to the services that run with it. It has their identity, as validators that let in listed nodes only know no other.
 *
 * @throws {CommandFailure}
 */
export async function openOwnNetwork(
  opened: AsyncDisposableStack,
  {
    config: file,
    name,
    networkID,
  }: { readonly config: string; readonly name: string | undefined; readonly networkID: number | undefined },
): Promise<ServedNetwork> {
  const config = configOf(file);
  const network = chooseNetwork(config, name, networkID);
  const logger = createLogger('silent');
  const ports = { logger, clock: systemClock, random: Math.random, metrics: createUnreadMetrics() };
  const identity = await identityOf(config);
  const threads = opened.use(await openWorkerPool({ ...config.bls, ...ports }));
  const served = opened.use(
    createServedNetwork({
      ...{ network, identity, ...ports, aggregation: config.aggregation },
      bls: createBlsService(threads, await loadBackend(config.bls.backend)),
      shared: undefined,
      storePath: undefined,
    }),
  );
  served.open();
  threads.start();
  return served;
}

function configOf(config: string): Config {
  try {
    return loadConfig({ config }).config;
  } catch (error) {
    throw asConfigFailure(error);
  }
}

async function identityOf({ identity }: Config): Promise<Identity> {
  try {
    return identity === undefined ? createIdentity() : await openIdentity(identity);
  } catch (error) {
    throw asConfigFailure(error);
  }
}

/** A thousand validators are connected within some ten seconds; whom one request needs may be there before all are. */
const START_MS = 15_000;
const LOOK_MS = 50;

/**
 * Until enough validators are connected, or there is no point in waiting on: a request then says why.
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
    await Promise.race([sleep(systemClock, LOOK_MS, signal), network.failed]);
  }
}

function chooseNetwork({ networks }: Config, name: string | undefined, networkID: number | undefined): NetworkConfig {
  const names = networks.map((network) => network.name).join(', ');
  const found = chosenName(networks, name, networkID);
  const network = networks.find((candidate) => [candidate.name, ...candidate.aliases].includes(found ?? ''));
  if (network === undefined) {
    throw usageFailure(
      found === undefined
        ? `the configuration has several networks: name one by --network (${names})`
        : `the configuration has no network ${found}; it has ${names}`,
    );
  }
  if (network.embedded === undefined) return network;
  throw usageFailure(
    `${network.name} is the embedded network, which lives in the service: start it with \`serve\`, and ask it by --url`,
  );
}
