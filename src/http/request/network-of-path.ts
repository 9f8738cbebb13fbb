import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { TSchema } from 'typebox';
import { oneOf } from '../../lib/encoding/schema.ts';
import { unknownNetwork } from '../errors/http-error.ts';

interface NamedNetwork {
  /** All names of the network in paths. */
  readonly pathNames: readonly string[];
}

export interface NetworkOfPath<Network extends NamedNetwork> {
  /** Schema of the parameter: all names that paths may use. */
  readonly network: TSchema;
  readonly onRequest: onRequestHookHandler;
  /** Returns the network of a request that the hook has passed. */
  readonly networkOf: (request: FastifyRequest) => Network;
}

export function createNetworkOfPath<Network extends NamedNetwork>(
  networks: readonly Network[],
): NetworkOfPath<Network> {
  const byName = new Map(networks.flatMap((network) => network.pathNames.map((name) => [name, network] as const)));
  const served = [...byName.keys()];
  return {
    network: oneOf(served),
    onRequest: requireNetwork(served),
    networkOf: ({ params }) => byName.get((params as { network: string }).network) as Network,
  };
}

/** Creates a hook of routes with `{network}`: an unknown name is a 404, before the schema is checked and the body read. */
export function requireNetwork(served: readonly string[]): onRequestHookHandler {
  return ({ params }, _reply, done) => {
    const { network } = params as { readonly network?: string };
    done(network === undefined || served.includes(network) ? undefined : unknownNetwork(network, served));
  };
}
