import { Type } from 'typebox';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { bytesToHex, parseHex } from '../../lib/encoding/bytes.ts';
import type { Devnet } from '../devnet.ts';
import { type EmitBody, EmitSchema, ExampleSchema, MessagesSchema, NetworkSchema } from '../devnet-schemas.ts';

const tags = ['Devnet'];
/** Free and open to all clients, because the devnet is for trials. */
const config = { access: OPERATIONS_ACCESS };

/**
 * Registers the routes that exist only with a devnet: example requests, new messages, addresses of its nodes.
 *
 * @param pathName the name by which the examples call it
 */
export function registerDevnetRoutes(server: Server, devnet: Devnet, pathName: string): void {
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
    async () => devnet.examples(pathName),
  );
  server.post(
    '/devnet/messages',
    {
      config,
      bodyLimit: EMIT_BODY_LIMIT,
      schema: {
        operationId: 'devnetMessages',
        tags,
        summary: 'Makes an EVM chain of the devnet emit messages',
        body: EmitSchema,
        response: { 200: MessagesSchema },
      },
    },
    async ({ body }) => ({ messages: emitMessages(devnet, body) }),
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
    async () => devnet.network,
  );
}

/** The longest payload in hex, and the other fields. */
const EMIT_BODY_LIMIT = 64 * 1024;

function emitMessages(devnet: Devnet, { count = 1, chain = 'C', payload, sender }: EmitBody) {
  const bytesOf = (hex: string | undefined, field: string) => (hex === undefined ? undefined : parseHex(hex, field));
  const [payloadBytes, senderBytes] = [bytesOf(payload, 'payload'), bytesOf(sender, 'sender')];
  return Array.from({ length: count }, () => {
    const { message, transactionHash, block } = devnet.emit(chain, payloadBytes, senderBytes);
    return {
      messageId: message.id,
      message: bytesToHex(message.bytes),
      txHash: transactionHash,
      transactionHash,
      block,
    };
  });
}
