import type { NetworkConfig } from '../config/settings.ts';
import type { ServedNetwork } from './served-network.ts';

/** The API of each configured network belongs to another network. */
export class WrongNetworks extends Error {
  override readonly name = 'WrongNetworks';
}

/** Rejects when a network cannot be opened, or with {@link WrongNetworks} when the API of each network belongs to another network. */
export function untilUnservable(networks: readonly ServedNetwork[]): Promise<never> {
  const failed = awaitFailure(networks);
  // A caller may ignore it.
  failed.catch(() => undefined);
  return failed;
}

async function awaitFailure(networks: readonly ServedNetwork[]): Promise<never> {
  const allRefused = Promise.all(networks.map(({ refused }) => refused));
  await Promise.race([allRefused, ...networks.map(({ failed }) => failed)]);
  const refusals = networks.map(({ name, refusal }) => refusal && `${name}: ${refusal}`);
  // One was corrected since, and an accepted network is never refused later.
  if (refusals.includes(undefined)) return Promise.race(networks.map(({ failed }) => failed));
  throw new WrongNetworks(refusals.join('; '));
}

/** Updates all networks. Returns those whose new API addresses were rejected, with the reason. */
export async function updateNetworks(
  networks: readonly ServedNetwork[],
  configs: readonly NetworkConfig[],
): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  const update = async (network: ServedNetwork): Promise<void> => {
    const config = configs.find(({ name }) => name === network.name);
    const problem = config && (await network.update(config));
    if (problem !== undefined) problems.set(network.name, problem);
  };
  await Promise.all(networks.map(update));
  return problems;
}
