import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { Network } from '../network/network.ts';
import { unknownNetwork } from './http-error.ts';

/** The `{network}` of paths: its schema, and the network that a path names. */
export function networkParameter(networks: readonly Network[]): {
  readonly network: TSchema;
  /** @throws {HttpError} `unknown_network` */
  readonly networkOf: (request: FastifyRequest) => Network;
} {
  const byName = new Map(networks.flatMap((network) => network.pathNames.map((name) => [name, network] as const)));
  const served = [...byName.keys()];
  return {
    network: Type.Enum(served, { type: 'string' }),
    networkOf({ params }) {
      const { network: name } = params as { network: string };
      const found = byName.get(name);
      if (found === undefined) throw unknownNetwork(name, served);
      return found;
    },
  };
}
