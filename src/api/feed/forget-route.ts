import { Type } from 'typebox';
import type { AccessOptions } from '../../http/access/access.ts';
import { isOperator } from '../../http/access/operator-access.ts';
import { HttpError } from '../../http/errors/http-error.ts';
import { parseID } from '../../http/parameters/parse-fields.ts';
import { refuseQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { REPLAY_ACCESS } from '../../http/request/route-access.ts';
import { integer, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { feedAggregationErrorResponses } from '../errors/aggregation-error-responses.ts';

export interface ForgetRouteOptions {
  readonly paths: NetworkOfPath<Network>;
  readonly access: AccessOptions;
}

export const ForgottenChain = Type.Object(
  { removed: integer('Messages that were removed') },
  { title: 'ForgottenChain', description: 'What was removed' },
);

/** Registers the route by which an operator lets the feed forget a chain. */
export function registerForget(server: Server, { paths, access }: ForgetRouteOptions): void {
  server.post(
    '/v1/signatureAggregator/:network/messages/:blockchainId/forget',
    {
      config: { access: REPLAY_ACCESS },
      schema: {
        operationId: 'forgetChain',
        tags: ['Feed'],
        summary: 'Forget a chain: its position and all of its messages',
        description:
          'For a private chain that was begun anew, whose RPC contradicts what was read. If the chain is watched, it is read again from `fromBlock`, ' +
          'or from its head. With configured keys it takes a key with the right `operate`; without, a request from the machine of the service.',
        params: Type.Object({ network: paths.network, blockchainId: text('In hex or cb58') }),
        response: {
          200: ForgottenChain,
          ...feedAggregationErrorResponses(400, 401, 403, 404, 500, 502, 503),
        },
      },
      onRequest: paths.onRequest,
      preValidation: refuseQuery,
    },
    async (request, reply) => {
      if (!isOperator(request, access, 'a chain is forgotten')) {
        throw new HttpError('forbidden', 'a chain is forgotten for an API key with the right operate only');
      }
      const { feed } = paths.networkOf(request);
      const chainID = parseID<BlockchainID>('blockchainId', request.params.blockchainId);
      return reply.send(await feed.forget(chainID));
    },
  );
}
