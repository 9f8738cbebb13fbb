import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, sleep } from '../lib/concurrency/clock.ts';
import type { Identity } from '../p2p/identity/identity.ts';
import { isIdentityContested } from '../p2p/identity/identity-conflict.ts';
import { type IdentityRegistration, registerIdentity } from '../store/redis/identity-registration.ts';
import type { SharedStore } from '../store/redis/shared-store.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { PeerCounts, ServedNetwork } from './served-network.ts';

export const LOOK_INTERVAL_MS = 5_000;
/** A registration expires after this time without a renewal, which happens at each look. */
const REGISTRATION_LAPSES_MS = 3 * LOOK_INTERVAL_MS;

/** Signs of another process with our NodeID. */
interface IdentitySigns {
  /** Description of the other process in the store that replicas share. */
  readonly inStore: string | undefined;
  /** Connections of each open network. */
  readonly peers: readonly (PeerCounts & { readonly network: string })[];
}

interface IdentityProblem {
  /** For untrusted clients. */
  readonly text: string;
  /** Description of the other process, for the log only. */
  readonly other: string | undefined;
}

/** Returns the most reliable sign. */
export function findIdentityProblem({ inStore, peers }: IdentitySigns): IdentityProblem | undefined {
  const advice = 'give each replica an identity of its own, or end the other process';
  if (inStore !== undefined) {
    return { text: `another replica has registered the same NodeID in the shared store: ${advice}`, other: inStore };
  }
  const contested = peers.find(isIdentityContested);
  if (contested === undefined) return undefined;
  const { network, connected, turnedAway } = contested;
  const counts = `${turnedAway} nodes of ${network} close our connections at once, and ${connected} let us in`;
  return { text: `${counts}; most likely another process uses the same NodeID: ${advice}`, other: undefined };
}

interface IdentityWatchOptions {
  /** Undefined without a shared store. */
  readonly registration: IdentityRegistration | undefined;
  readonly peers: () => IdentitySigns['peers'];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface IdentityWatch extends AsyncDisposable {
  /** For untrusted clients; undefined without a sign of another process. */
  problem(): string | undefined;
}

/** Watches for another process with our NodeID in the shared store and at the nodes of each network. */
export function openIdentityWatch({
  identity: { nodeID },
  networks,
  store,
  ...options
}: Omit<IdentityWatchOptions, 'registration' | 'peers'> & {
  readonly identity: Identity;
  readonly networks: readonly ServedNetwork[];
  readonly store: SharedStore | undefined;
}): IdentityWatch {
  const self = { replica: randomUUID(), description: `process ${process.pid} on ${hostname()}` };
  const { metrics } = options;
  return watchIdentity({
    ...options,
    registration: store && registerIdentity({ ...self, store, nodeID, metrics, lapsesMs: REGISTRATION_LAPSES_MS }),
    peers: () =>
      networks.flatMap((network) => {
        const counts = network.peerCounts();
        return counts === undefined ? [] : [{ ...counts, network: network.name }];
      }),
  });
}

/** Looks repeatedly, because the other process may start later or end. Disposal closes the registration. */
export function watchIdentity(options: IdentityWatchOptions): IdentityWatch {
  const { registration, peers, clock, logger, metrics } = options;
  const stopped = new AbortController();
  let problem: IdentityProblem | undefined;
  metrics.readGauge(
    { name: 'identity_contested', help: 'Whether another process seems to use the same NodeID: 1 or 0' },
    () => (problem === undefined ? 0 : 1),
  );

  async function look(): Promise<void> {
    const inStore = await registration?.look();
    if (stopped.signal.aborted) return;
    const before = problem;
    problem = findIdentityProblem({ inStore, peers: peers() });
    // Logs only the begin and the end, because the counts change all the time.
    if (problem !== undefined && before === undefined) {
      logger.warn({ reason: problem.text, other: problem.other }, 'the NodeID is used by another process too');
    } else if (problem === undefined && before !== undefined) {
      logger.info('the NodeID is used by this process alone again');
    }
  }

  async function keepLooking(): Promise<void> {
    for (;;) {
      await look();
      try {
        await sleep(clock, LOOK_INTERVAL_MS, stopped.signal);
      } catch {
        return;
      }
    }
  }

  const working = keepLooking();
  return {
    problem: () => problem?.text,
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('the service stops'));
      await working;
      await registration?.[Symbol.asyncDispose]();
    },
  };
}
