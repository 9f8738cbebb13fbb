import { Type } from 'typebox';
import { MAX_REPLAY_BLOCKS } from '../../feed/feed.ts';
import type { FeedMessage, MessageReader } from '../../feed/feed-message.ts';
import type { AccessOptions } from '../../http/access/access.ts';
import { isOperator } from '../../http/access/operator-access.ts';
import { feedErrorResponses } from '../../http/errors/error-body.ts';
import { badRequest, HttpError } from '../../http/errors/http-error.ts';
import { parseField, parseID, parseOptionalID } from '../../http/parameters/parse-fields.ts';
import { checkQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { AGGREGATION_ACCESS, FEED_ACCESS, REPLAY_ACCESS } from '../../http/request/route-access.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { integer, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type BlockchainID, type MessageID, parseHexOrCb58Id } from '../../warp/ids.ts';
import { INCLUDE } from '../aggregation/parse-aggregation-request.ts';
import { prefersEvents } from '../aggregation/prefers-events.ts';
import { feedAggregationErrorResponses } from '../errors/aggregation-error-responses.ts';
import { presentSentMessages } from '../errors/sent-messages.ts';
import { ORIGIN } from './cursor.ts';
import { DeliveredMessage, presentDelivered } from './delivered-message.ts';
import {
  DEFAULT_PAGE,
  FeedParameters,
  isTxHash,
  MAX_PAGE,
  parseAfter,
  parseBefore,
  parseFeedQuery,
  parseTxHash,
} from './feed-query.ts';
import { FEED_STREAM, MessagePage } from './feed-records.ts';
import { streamFeed } from './feed-stream.ts';
import { registerForget } from './forget-route.ts';
import { readOlder } from './read-older.ts';
import { readPage } from './read-page.ts';
import { StreamLimit } from './stream-limit.ts';

const PATH = '/v1/signatureAggregator/:network/messages';
const tags = ['Feed'];
const START_RETRY_MS = 1_000;
const STORE_RETRY_MS = 30_000;

export interface FeedRoutesOptions {
  readonly networks: readonly Network[];
  readonly paths: NetworkOfPath<Network>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly access: AccessOptions;
}

/** Routes that read the messages of watched chains. */
export function registerFeed(server: Server, options: FeedRoutesOptions): void {
  registerMessages(server, options);
  registerMessage(server, options);
  registerReplay(server, options);
  registerForget(server, options);
}

function registerMessages(server: Server, { networks, paths, clock, metrics }: FeedRoutesOptions): void {
  const stopping = new AbortController();
  server.addHook('preClose', async () => stopping.abort());
  const limits = new Map(networks.map(({ name }) => [name, new StreamLimit(metrics.with({ network: name }))]));

  server.get(
    PATH,
    {
      config: { access: FEED_ACCESS, eventStream: FEED_STREAM },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'listMessages',
        tags,
        summary: 'Messages of the watched chains, by cursor or as a stream of events',
        description: DESCRIPTION,
        params: Type.Object({ network: paths.network }),
        querystring: FeedParameters,
        response: {
          200: MessagePage,
          ...feedErrorResponses(400, 404, 410, 500, 503),
        },
      },
      onRequest: paths.onRequest,
    },
    async (request, reply) => {
      const { context, headers, method, query: parameters } = request;
      const network = paths.networkOf(request);
      const store = messagesOf(network);
      const query = await parseFeedQuery(parameters, store, network.feed, context.signal);
      const included = { accessList: parameters.include === 'accessList' };
      const { after, before, limit = DEFAULT_PAGE } = parameters;
      if (after !== undefined && before !== undefined) throw badRequest('after and before exclude each other');
      if (method === 'HEAD' || before !== undefined || !prefersEvents(headers.accept)) {
        const page =
          before === undefined
            ? await readPage(store, query, parseAfter(after, query, store), { limit, included }, clock)
            : await readOlder(store, query, parseBefore(before, query, store), { limit, included }, clock);
        await context.chargeAfterwards(FEED_ACCESS.unitsPer100Messages * Math.floor(page.messages.length / 100));
        return reply.send(page);
      }
      const lastEventID = [headers['last-event-id']].flat()[0];
      const cursor = parseAfter(lastEventID || after, query, store);
      await limits.get(network.name)?.run(context.client, async (displaced) => {
        await context.chargeMore(FEED_ACCESS.stream.units - FEED_ACCESS.units);
        return streamFeed(reply, {
          context,
          clock,
          store,
          query,
          cursor,
          included,
          displaced,
          stopping: stopping.signal,
        });
      });
      // Fastify sends nothing then; its types do not allow for that.
      return reply as never;
    },
  );
}

function registerMessage(server: Server, { paths, clock }: FeedRoutesOptions): void {
  server.get(
    `${PATH}/:messageId`,
    {
      config: { access: AGGREGATION_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'getMessage',
        tags,
        summary: 'A message of a watched chain',
        description:
          'The last one with this ID: a contract may send the same message again. The hash of a transaction finds the message that it sent. With a destination, the signed message is one that the ' +
          'destination accepts now: it is signed again if the stored one is not signed, or if the epoch of the destination has moved on so ' +
          'far that it would be refused.',
        params: Type.Object({
          network: paths.network,
          messageId: text('In hex or cb58; or the hash of a transaction that sent one message, with 0x'),
        }),
        querystring: Type.Object({
          destinationBlockchainId: Type.Optional(text('The blockchain that will verify the message, in hex or cb58')),
          include: INCLUDE,
        }),
        response: { 200: DeliveredMessage, ...feedAggregationErrorResponses(400, 403, 404, 500, 502, 503) },
      },
      onRequest: paths.onRequest,
    },
    async (request, reply) => {
      const network = paths.networkOf(request);
      const store = messagesOf(network);
      const { messageId } = request.params;
      const id = parseField('messageId', messageId, () => parseHexOrCb58Id<MessageID>(messageId, 'messageId'));
      const destinationChainID = parseOptionalID<BlockchainID>(
        'destinationBlockchainId',
        request.query.destinationBlockchainId,
      );
      const found = store.find(id) ?? findByTransaction(store, messageId, network.name);
      if (found === undefined) throw new HttpError('unknown_message', `the feed has no message ${messageId}`);
      const included = { accessList: request.query.include === 'accessList' };
      const { context } = request;
      return reply.send(await presentDelivered(found, { destinationChainID, included, network, context, clock }));
    },
  );
}

function registerReplay(server: Server, { paths, access }: FeedRoutesOptions): void {
  server.post(
    `${PATH}/:blockchainId/replay`,
    {
      config: { access: REPLAY_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'replayMessages',
        tags,
        summary: 'Read blocks of a watched chain again, and store the messages that are missing',
        description:
          'One range at a time. Added messages are signed, and readers that have passed their blocks get them. With configured keys ' +
          'it takes a key with the right `operate`; without, a request from the machine of the service.',
        params: Type.Object({ network: paths.network, blockchainId: text('In hex or cb58') }),
        querystring: Type.Object({
          fromBlock: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'The first block' }),
          toBlock: Type.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            description: `The last block; at most ${MAX_REPLAY_BLOCKS} blocks are read`,
          }),
        }),
        response: {
          200: Type.Object(
            {
              found: integer('Messages of the range that pass the filters of the chain'),
              added: integer('Those that were not stored before'),
            },
            { title: 'Replay', description: 'What the range has' },
          ),
          ...feedAggregationErrorResponses(400, 401, 403, 404, 500, 502, 503),
        },
      },
      onRequest: paths.onRequest,
    },
    async (request, reply) => {
      if (!isOperator(request, access, 'blocks are read again')) {
        throw new HttpError('forbidden', 'blocks are read again for an API key with the right operate only');
      }
      const network = paths.networkOf(request);
      messagesOf(network);
      const { fromBlock, toBlock } = request.query;
      const chainID = parseID<BlockchainID>('blockchainId', request.params.blockchainId);
      return reply.send(await network.feed.replay(chainID, fromBlock, toBlock, request.context.signal));
    },
  );
}

const DESCRIPTION = `A network that watches chains (\`networks.NAME.feed.chains\`) signs each Warp message when its block is executed.

**Pages.** Ask again with \`after\` set to \`nextCursor\`. A message comes again when its status has changed. A cursor belongs to the parameters of its query, except \`limit\`. Another replica repeats the messages that were not confirmed or not signed yet. \`before\` reads backwards, for people who look for old messages.

**Streams.** \`Accept: text/event-stream\` gets stored messages after the cursor, then each new one as soon as it is signed or has failed, so that one that is signed late comes late. A message that is still neither 10 s after its block was executed is sent as \`pending\`, and again later. The \`id\` of an event is the cursor after it: send it as \`Last-Event-ID\`, which replaces \`after\`, to go on after a disconnect. At the same replica no message is sent twice in the same status.`;

/** Returns the message that a transaction sent. @throws {HttpError} `several_messages` */
function findByTransaction(store: MessageReader, text: string, network: string): FeedMessage | undefined {
  if (!isTxHash(text)) return undefined;
  const after = new Map(store.progress().map(({ chainID }) => [chainID, ORIGIN]));
  const found = store.page({ after, txHash: parseTxHash(text), limit: MAX_PAGE });
  if (found.length <= 1) return found[0];
  const path = PATH.replace(':network', network);
  const message = `transaction ${text} sent several messages: choose one by its ID, or read them from ${path}?txHash=${text}`;
  throw new HttpError('several_messages', message, { details: presentSentMessages(found) });
}

/** @throws {HttpError} */
function messagesOf({ name, feed: { messages, isStarting, storeProblem } }: Network): MessageReader {
  if (messages !== undefined && isStarting) {
    const text = `the feed of network ${name} does not know all of its chains yet`;
    throw new HttpError('network_unavailable', text, { retryAfterMs: START_RETRY_MS });
  }
  if (messages !== undefined) return messages;
  if (storeProblem !== undefined) {
    const text = `the feed of network ${name} is stopped, because its store cannot be opened; its operator has the reason`;
    throw new HttpError('network_unavailable', text, { retryAfterMs: STORE_RETRY_MS });
  }
  throw new HttpError(
    'feed_not_configured',
    `network ${name} watches no chains: its operator can set networks.${name}.feed.chains, such as [{ "blockchainId": "C" }]`,
  );
}
