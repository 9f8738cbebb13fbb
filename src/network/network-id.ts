import type { Clock } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import { PUBLIC_NETWORKS } from '../warp/networks.ts';

interface InfoApi {
  getNetworkID(signal: AbortSignal): Promise<number>;
}

/** Reads the network ID of an info API. @throws what the API throws, `DeadlineExceeded`, or the signal's reason */
export async function readNetworkID(
  api: InfoApi,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<number> {
  using deadline = startDeadline(clock, timeoutMs, 'asking for the network ID', signal);
  return await api.getNetworkID(deadline.signal);
}

/**
 * Returns why a network with this ID cannot be served under the name. A private network must not have the ID of a public one, because its
 * defaults are less strict.
 *
 * @param expected undefined for a private network
 */
export function findNetworkProblem(name: string, expected: number | undefined, given: number): string | undefined {
  if (expected !== undefined) {
    if (given === expected) return undefined;
    return `its info API reports network ID ${given}, but ${name} has ${expected}: check infoApi and pChainApi`;
  }
  const known = PUBLIC_NETWORKS.find(({ networkID }) => networkID === given);
  return (
    known && `its info API belongs to ${known.name}: call the network ${known.name} in the configuration, not ${name}`
  );
}
