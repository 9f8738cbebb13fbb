import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Network } from '../network/network.ts';
import { unknownNetwork } from './http-error.ts';

/** Finds the network that a request's path names. */
export interface ServedNetworks {
  /** Schema of `{network}`. */
  readonly parameter: ReturnType<typeof parameterOf>;
  /** @throws {HttpError} `unknown_network` */
  readonly networkOf: (request: FastifyRequest) => Network;
  /** A hook before the body is read, so that a request for a network that is not served costs nothing more. */
  readonly requireNetwork: (request: FastifyRequest) => Promise<void>;
}

function parameterOf(names: string[]) {
  return Type.Enum(names, { type: 'string' });
}

export function createServedNetworks(networks: readonly Network[]): ServedNetworks {
  const byName = new Map(networks.flatMap((network) => network.pathNames.map((name) => [name, network] as const)));
  const served = [...byName.keys()];
  const networkOf = ({ params }: FastifyRequest): Network => {
    const { network: name } = params as { network: string };
    const found = byName.get(name);
    if (found === undefined) throw unknownNetwork(name, served);
    return found;
  };
  return {
    parameter: parameterOf(served),
    networkOf,
    requireNetwork: async (request) => void networkOf(request),
  };
}
