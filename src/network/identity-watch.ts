import { type Clock, sleep } from '../lib/concurrency/clock.ts';
import { isIdentityContested } from '../p2p/identity/identity-conflict.ts';
import type { IdentityRegistration } from '../store/redis/identity-registration.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { PeerCounts } from './served-network.ts';

export const LOOK_INTERVAL_MS = 5_000;
/** A registration that is not renewed for so long is of a process that has ended: it renews at each look. */
export const USE_LAPSES_MS = 3 * LOOK_INTERVAL_MS;

/** What each way of looking says of others under our NodeID. */
export interface IdentitySigns {
  /** Who else is registered in the store that replicas share. */
  readonly inStore: string | undefined;
  /** How the nodes of each open network take our connections. */
  readonly peers: readonly (PeerCounts & { readonly network: string })[];
}

export interface IdentityProblem {
  /** In words that strangers may read. */
  readonly text: string;
  /** The other process, as far as it is known: for the log only. */
  readonly other: string | undefined;
}

/** The surest sign first. */
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

export interface IdentityWatchOptions {
  /** Undefined where replicas share no store. */
  readonly registration: IdentityRegistration | undefined;
  readonly peers: () => IdentitySigns['peers'];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface IdentityWatch extends AsyncDisposable {
  /** In words that strangers may read; undefined while nobody else is seen. */
  problem(): string | undefined;
}

/** Looks all the time: the second process may start long after us, and may end. It closes what it was given. */
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
    // Counts of nodes change all the time: a line is written when the problem comes or goes.
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
