import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, repeat } from '../lib/concurrency/clock.ts';
import type { Identity } from '../p2p/identity/identity.ts';
import { isIdentityContested } from '../p2p/identity/identity-conflict.ts';
import { registerIdentity } from '../store/redis/identity-registration.ts';
import type { SharedStore } from '../store/redis/shared-store.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { NetworkReadiness } from './network.ts';
import type { ServedNetwork } from './served-network.ts';

export const LOOK_INTERVAL_MS = 5_000;
/** A registration expires after this time without a renewal, which happens at each look. */
const REGISTRATION_LAPSES_MS = 3 * LOOK_INTERVAL_MS;
const ADVICE = 'give each replica an identity of its own, or end the other process';

interface WatchedNetwork extends Pick<ServedNetwork, 'name' | 'peerCounts'> {
  readiness(): Pick<NetworkReadiness, 'networkID'>;
}

interface IdentityWatchOptions {
  readonly identity: Pick<Identity, 'nodeID'>;
  readonly networks: readonly WatchedNetwork[];
  /** Undefined without a shared store. */
  readonly store: SharedStore | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface IdentityWatch extends AsyncDisposable {
  /** For untrusted clients; undefined without a sign of another user of the NodeID. */
  problem(): string | undefined;
}

/**
 * Watches for another process with our NodeID in the shared store and at the nodes of each network. Looks repeatedly, because the other
 * process may start later or end. Disposal closes the registration.
 */
export function openIdentityWatch(options: IdentityWatchOptions): IdentityWatch {
  const { identity, networks, store, clock, logger, metrics } = options;
  const self = { nodeID: identity.nodeID, replica: randomUUID(), lapsesMs: REGISTRATION_LAPSES_MS };
  const description = `process ${process.pid} on ${hostname()}`;
  const registration = store && registerIdentity({ ...self, store, description, metrics });
  const stopped = new AbortController();
  let problem: string | undefined;
  metrics.readGauge(
    { name: 'identity_contested', help: 'Whether another process seems to use the same NodeID: 1 or 0' },
    () => (problem === undefined ? 0 : 1),
  );

  async function look(): Promise<number> {
    /** Description of the other process, for the log only. */
    const other = await registration?.look();
    if (stopped.signal.aborted) return LOOK_INTERVAL_MS;
    const before = problem;
    // The store is the most reliable sign.
    problem =
      other === undefined
        ? findContestedNetwork(networks)
        : `another replica has registered the same NodeID in the shared store: ${ADVICE}`;
    // Logs only the begin and the end of a problem, because the counts change all the time.
    if (problem !== undefined && before === undefined) {
      logger.warn({ reason: problem, other }, 'the NodeID is used twice');
    } else if (problem === undefined && before !== undefined) {
      logger.info('the NodeID is no longer used twice');
    }
    return LOOK_INTERVAL_MS;
  }

  const working = repeat(clock, stopped.signal, look);
  return {
    problem: () => problem,
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('the service stops'));
      await working;
      await registration?.[Symbol.asyncDispose]();
    },
  };
}

function findContestedNetwork(networks: IdentityWatchOptions['networks']): string | undefined {
  for (const network of networks) {
    const counts = network.peerCounts();
    if (counts === undefined || !isIdentityContested(counts)) continue;
    const { connected, turnedAway } = counts;
    const sign = `${turnedAway} nodes of ${network.name} close our connections at once, and ${connected} let us in`;
    const { networkID } = network.readiness();
    const twin = networks.find((other) => other !== network && other.readiness().networkID === networkID);
    if (twin === undefined || networkID === undefined)
      return `${sign}; most likely another process uses the same NodeID: ${ADVICE}`;
    return (
      `${sign}; ${twin.name} of this service has the same network ID: if both are one network, serve it once, and ` +
      'make the other name one of its aliases'
    );
  }
  return undefined;
}
