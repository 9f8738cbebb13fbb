import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { TSchema } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { HttpError, unknownNetwork } from '../errors/http-error.ts';

export interface NetworkOfPath {
  /** Schema of the parameter: all names that paths may use. */
  readonly network: TSchema;
  /** @throws {HttpError} `unknown_network` */
  readonly networkOf: (request: FastifyRequest) => Network;
  /** Hook of routes with `{network}`: refuses an unknown name with a 404 before the schema is checked and the body read. */
  readonly onRequest: onRequestHookHandler;
}

export function createNetworkOfPath(networks: readonly Network[]): NetworkOfPath {
  const byName = new Map(networks.flatMap((network) => network.pathNames.map((name) => [name, network] as const)));
  const served = [...byName.keys()];
  function networkOf(request: FastifyRequest): Network {
    const found = find(request);
    if (found instanceof HttpError) throw found;
    return found;
  }

  function find({ params }: FastifyRequest): Network | HttpError {
    const { network: name } = params as { network: string };
    return byName.get(name) ?? unknownNetwork(name, served);
  }
  return {
    network: Type.Enum(served, { type: 'string' }),
    networkOf,
    onRequest(request, _reply, done) {
      const found = find(request);
      done(found instanceof HttpError ? found : undefined);
    },
  };
}
