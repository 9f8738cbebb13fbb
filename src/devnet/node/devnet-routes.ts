import { Type } from 'typebox';
import { badRequest } from '../../http/errors/http-error.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { bytesToHex, parseHex } from '../../lib/encoding/bytes.ts';
import type { Devnet } from '../devnet.ts';
import {
  type EmitBody,
  EmitSchema,
  ExampleSchema,
  type IssueBody,
  IssuedSchema,
  IssueSchema,
  MessagesSchema,
  NetworkSchema,
} from '../devnet-schemas.ts';
import { TransactionRefused } from '../pchain/execute-transaction.ts';

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
        summary: 'Makes an EVM chain of the devnet emit messages, or a validator manager send one',
        description:
          'Either `register` or `setWeight` sends the message of a validator manager, and takes `subnetId` alone beside it: chain, sender, ' +
          'payload and count are its own.',
        body: EmitSchema,
        response: { 200: MessagesSchema },
      },
    },
    async ({ body }) => ({ messages: emitMessages(devnet, body) }),
  );
  server.post(
    '/devnet/transactions',
    {
      config,
      bodyLimit: ISSUE_BODY_LIMIT,
      schema: {
        operationId: 'devnetTransactions',
        tags,
        summary: 'Issues a P-Chain transaction, which the next block accepts',
        description:
          'The P-Chain verifies the signed message at the height of its epoch, and refuses with 400 in the words of avalanchego. No ' +
          'transaction costs anything.',
        body: IssueSchema,
        response: { 200: IssuedSchema },
      },
    },
    async ({ body }) => issue(devnet, body),
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
/** The longest signed message in hex, and the other fields. */
const ISSUE_BODY_LIMIT = 128 * 1024;

function emitMessages(devnet: Devnet, body: EmitBody) {
  const fromManager = devnet.managerMessage(body);
  const { count = 1, chain = fromManager?.chain ?? 'C' } = body;
  const bytesOf = (hex: string | undefined, field: string) => (hex === undefined ? undefined : parseHex(hex, field));
  const payload = fromManager?.payload ?? bytesOf(body.payload, 'payload');
  const sender = fromManager?.sender ?? bytesOf(body.sender, 'sender');
  return Array.from({ length: count }, () => {
    const { message, transactionHash, block } = devnet.emit(chain, payload, sender);
    return {
      messageId: message.id,
      message: bytesToHex(message.bytes),
      txHash: transactionHash,
      transactionHash,
      block,
      ...(fromManager !== undefined && { validationId: fromManager.validationID }),
    };
  });
}

function issue(devnet: Devnet, body: IssueBody) {
  try {
    const { transaction, height, acceptedInMs, subnetID, added } = devnet.issue(body);
    return {
      txHash: transaction.id,
      height: Number(height),
      acceptedInMs: Math.ceil(acceptedInMs),
      ...(subnetID !== undefined && { subnetId: subnetID }),
      ...(added.length > 0 && {
        validators: added.map(({ nodeID, validationID }) => ({ nodeId: nodeID, validationId: validationID })),
      }),
    };
  } catch (error) {
    throw error instanceof TransactionRefused ? badRequest(error.message, { cause: error }) : error;
  }
}
