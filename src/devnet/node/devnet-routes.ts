import { AggregatorError } from '../../aggregation/aggregator-error.ts';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { Type } from '../../lib/encoding/schema.ts';
import type { Devnet } from '../devnet.ts';
import { ExampleSchema, MessagesSchema, NetworkSchema } from '../devnet-schemas.ts';

/** Messages of one call: 10,000 of them are 2 MB of JSON. */
const MAX_MESSAGES = 10_000;
/** About as long as the devnet takes to start. */
const START_MS = 1_000;

const tags = ['Devnet'];
/** Free and open to all clients, because the network is for trying things out. */
const config = { access: OPERATIONS_ACCESS };

/**
 * What only a service with a devnet has: requests to try, messages to sign, and where its nodes are.
 *
 * @param running the devnet, undefined until it has started
 * @param pathName the name by which the examples call it
 */
export function registerDevnetRoutes(server: Server, running: () => Devnet | undefined, pathName: string): void {
  function devnet(): Devnet {
    const started = running();
    if (started !== undefined) return started;
    throw new AggregatorError('network_unavailable', 'the devnet is starting', { retryAfterMs: START_MS });
  }

  server.get(
    '/devnet/examples',
    {
      config,
      // A compiled serializer would add the defaults of the body.
      serializerCompiler: PLAIN_SERIALIZER,
      schema: {
        operationId: 'devnetExamples',
        tags,
        summary: 'Requests to try that succeed',
        response: { 200: Type.Array(ExampleSchema, { description: 'Each to be sent as it is' }) },
      },
    },
    async () => devnet().examples(pathName),
  );
  server.post(
    '/devnet/messages',
    {
      config,
      schema: {
        operationId: 'devnetMessages',
        tags,
        summary: 'Makes the C-Chain emit new messages',
        body: Type.Object(
          { count: Type.Integer({ minimum: 1, maximum: MAX_MESSAGES }) },
          { additionalProperties: false, examples: [{ count: 1 }] },
        ),
        response: { 200: MessagesSchema },
      },
    },
    async ({ body }) => ({ messages: devnet().emitMessages(body.count) }),
  );
  server.get(
    '/devnet/network',
    {
      config,
      schema: {
        operationId: 'devnetNetwork',
        tags,
        summary: 'Where its API is, and which nodes it has',
        response: { 200: NetworkSchema },
      },
    },
    async () => devnet().network,
  );
}
