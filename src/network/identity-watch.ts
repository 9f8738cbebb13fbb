import { isIdentityContested } from '../p2p/identity-conflict.ts';
import { type IdentityUse, LOOK_INTERVAL_MS } from '../p2p/identity-folder-use.ts';
import { type Clock, sleep } from '../primitives/clock.ts';
import type { IdentityRegistration } from '../store/identity-registration.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { PeerCounts } from './served-network.ts';

/** What each way of looking says of others under our NodeID. */
export interface IdentitySigns {
  /** Who else has a mark in the folder of the identity. */
  readonly inFolder: string | undefined;
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
export function findIdentityProblem({ inFolder, inStore, peers }: IdentitySigns): IdentityProblem | undefined {
  const advice = 'give each replica an identity of its own, or end the other process';
  if (inFolder !== undefined) {
    return { text: `another process uses the same identity.directory: ${advice}`, other: inFolder };
  }
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
  /** Undefined where the identity has no folder of its own. */
  readonly folder: IdentityUse | undefined;
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
  const { folder, registration, peers, clock, logger, metrics } = options;
  const stopped = new AbortController();
  let problem: IdentityProblem | undefined;
  metrics.readGauge(
    { name: 'identity_contested', help: 'Whether another process seems to use the same NodeID: 1 or 0' },
    () => (problem === undefined ? 0 : 1),
  );

  async function look(): Promise<void> {
    const [inFolder, inStore] = await Promise.all([folder?.look(), registration?.look()]);
    if (stopped.signal.aborted) return;
    const before = problem;
    problem = findIdentityProblem({ inFolder, inStore, peers: peers() });
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
      await Promise.all([folder?.[Symbol.asyncDispose](), registration?.[Symbol.asyncDispose]()]);
    },
  };
}
