import { PUBLIC_NETWORKS } from '../../warp/networks.ts';

/**
 * The network that a command is for: the one named, else the only one, else the public one that the message is of. Undefined where
 * nobody can tell.
 *
 * @param networkID of the message, where there is one
 */
export function chosenName(
  networks: readonly { readonly name: string }[],
  name: string | undefined,
  networkID: number | undefined,
): string | undefined {
  if (name !== undefined) return name;
  if (networks.length === 1) return networks[0]?.name;
  const known = PUBLIC_NETWORKS.find((network) => network.networkID === networkID);
  return networks.find((network) => network.name === known?.name)?.name;
}
