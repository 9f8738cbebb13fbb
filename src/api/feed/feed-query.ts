import { type Static, Type } from 'typebox';
import type { Feed } from '../../feed/feed.ts';
import {
  type BlockPosition,
  type ChainProgress,
  endOfBlock,
  MESSAGE_STATUSES,
  type MessageReader,
  type MessageStatus,
} from '../../feed/feed-message.ts';
import { badRequest, HttpError } from '../../http/errors/http-error.ts';
import { parseField, parseOptionalID } from '../../http/parameters/parse-fields.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { oneOf, optionalText } from '../../lib/encoding/schema.ts';
import { type BlockchainID, parseHexOrCb58Id } from '../../warp/ids.ts';
import { INCLUDE } from '../aggregation/parse-aggregation-request.ts';
import { type Cursor, chainKeyOf, encodeCursor, ORIGIN, parseCursor, START } from './cursor.ts';

/** Selects messages. A cursor belongs to one query. */
export interface FeedQuery {
  readonly sourceChainID: BlockchainID | undefined;
  /** `0x` and 40 digits in lower case. */
  readonly sender: string | undefined;
  readonly destinationChainID: BlockchainID | undefined;
  readonly status: MessageStatus | undefined;
  /** `0x` and 64 digits in lower case. */
  readonly txHash?: string | undefined;
}

export const MAX_PAGE = 1_000;
export const DEFAULT_PAGE = 100;
/** Value of `after` that stands for a cursor. */
const RECENT = 'recent';
const MAX_RECENT = 100;
/** The RPC of a watched chain does not answer. */
const UNREAD_RETRY_MS = 5_000;

export const FeedParameters = Type.Object(
  {
    sourceBlockchainId: optionalText(
      'Only messages of this chain: its ID in hex or cb58, or C for the C-Chain. By default those of all watched chains',
    ),
    txHash: optionalText('Only messages of this transaction: its hash with 0x'),
    sender: optionalText('Only messages of this sender: an EVM address with 0x'),
    destinationBlockchainId: optionalText('Only Teleporter messages for this chain: its ID in hex or cb58'),
    status: Type.Optional(oneOf(MESSAGE_STATUSES, 'Only messages of this status')),
    include: INCLUDE,
    after: optionalText(
      `The cursor after which messages are read: nextCursor of an answer, or the id of an event. \`${RECENT}\` begins with the last messages, at most ` +
        `${MAX_RECENT} of a chain. Without it, reading begins with the oldest stored message`,
    ),
    before: optionalText(
      `In place of \`after\`: reads backwards, the newest first. \`${RECENT}\` begins with the last message, and nextCursor of such an answer goes on with ` +
        'older ones. Messages are listed as they are now; streams begin at `after`',
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PAGE,
        default: DEFAULT_PAGE,
        description: 'The most messages of a page. A page ends earlier after 1 MiB of messages. Streams ignore it',
      }),
    ),
  },
  { additionalProperties: false },
);
export type FeedParameters = Static<typeof FeedParameters>;

type ChainsOfFeed = Pick<Feed, 'findCChain' | 'watches'>;

/** @throws {HttpError} naming the parameter; `network_unavailable` for a watched chain of which no block was read yet */
export async function parseFeedQuery(
  parameters: FeedParameters,
  store: MessageReader,
  feed: ChainsOfFeed,
  signal: AbortSignal,
): Promise<FeedQuery> {
  const { sourceBlockchainId, sender, destinationBlockchainId, status, txHash } = parameters;
  return {
    sourceChainID:
      sourceBlockchainId === undefined ? undefined : await parseSourceChain(sourceBlockchainId, store, feed, signal),
    sender: parseSender(sender),
    destinationChainID: parseOptionalID<BlockchainID>('destinationBlockchainId', destinationBlockchainId),
    status,
    txHash: txHash === undefined ? undefined : parseTxHash(txHash),
  };
}

/** Returns the text to which a cursor is bound. */
export function textOfQuery({ sourceChainID, sender, destinationChainID, status, txHash }: FeedQuery): string {
  // Cursors of earlier versions have no transaction.
  const last = txHash === undefined ? [] : [txHash];
  return JSON.stringify([sourceChainID ?? '', sender ?? '', destinationChainID ?? '', status ?? '', ...last]);
}

/** @param after undefined for the oldest stored message. @throws {HttpError} */
export function parseAfter(after: string | undefined, query: FeedQuery, store: MessageReader): Cursor {
  if (after === undefined) return START;
  if (after === RECENT) return cursorAt(recentPositions(query, store));
  const cursor = parseField('after', after, () => parseCursor(after, textOfQuery(query)));
  // A cursor of an earlier version is expired.
  return cursor ?? cursorAt(new Map(store.progress().map(({ chainID }) => [chainID, ORIGIN])));
}

/** Returns the positions before which each chain of the query is read. @throws {HttpError} */
export function parseBefore(
  before: string,
  query: FeedQuery,
  store: MessageReader,
): ReadonlyMap<BlockchainID, BlockPosition> {
  const chains = progressOf(query, store);
  if (before === RECENT) {
    return new Map(chains.map(({ chainID, watermark }) => [chainID, endOfBlock(watermark.blockNumber)]));
  }
  const cursor = attempt(() => parseCursor(before, textOfBackwardQuery(query)));
  if (cursor instanceof ParseError) {
    throw badRequest('before is no cursor of this query: give `recent`, or nextCursor of an answer to before');
  }
  // A chain that is watched since then has no older messages.
  return new Map(
    chains.flatMap(({ chainID }) => {
      const position = cursor?.chains.get(chainKeyOf(chainID))?.settled;
      return position === undefined ? [] : [[chainID, position] as const];
    }),
  );
}

export function encodeBefore(positions: ReadonlyMap<BlockchainID, BlockPosition>, query: FeedQuery): string {
  return encodeCursor(cursorAt(positions), textOfBackwardQuery(query));
}

function textOfBackwardQuery(query: FeedQuery): string {
  return `before ${textOfQuery(query)}`;
}

/** Progress of the chains of a query. */
function progressOf({ sourceChainID }: FeedQuery, store: MessageReader): readonly ChainProgress[] {
  return store.progress().filter(({ chainID }) => sourceChainID === undefined || sourceChainID === chainID);
}

/** Returns a cursor from which chains are read by position. */
function cursorAt(positions: ReadonlyMap<BlockchainID, BlockPosition>): Cursor {
  const chains = new Map([...positions].map(([chainID, settled]) => [chainKeyOf(chainID), { settled }]));
  return { ...START, chains };
}

/** Returns positions with at most {@link MAX_RECENT} messages of each chain after them. */
function recentPositions(query: FeedQuery, store: MessageReader): ReadonlyMap<BlockchainID, BlockPosition> {
  return new Map(
    progressOf(query, store).map(({ chainID, watermark, storedAfter }) => {
      let after: BlockPosition = endOfBlock(watermark.blockNumber);
      for (let blocks = 1; ; blocks *= 2) {
        const first = watermark.blockNumber - blocks;
        const before = first <= storedAfter.blockNumber ? storedAfter : endOfBlock(first);
        const found = store.page({
          sender: query.sender,
          destinationChainID: query.destinationChainID,
          status: query.status,
          txHash: query.txHash,
          after: new Map([[chainID, before]]),
          limit: MAX_RECENT + 1,
        });
        if (found.length > MAX_RECENT) break;
        after = before;
        if (before === storedAfter) break;
      }
      return [chainID, after];
    }),
  );
}

async function parseSourceChain(
  text: string,
  store: MessageReader,
  feed: ChainsOfFeed,
  signal: AbortSignal,
): Promise<BlockchainID> {
  const name = text.toUpperCase();
  const parse = () => parseHexOrCb58Id<BlockchainID>(text, 'sourceBlockchainId');
  const isName = ['P', 'X', 'C'].includes(name);
  // No EVM chain has one of the other names.
  const named = name === 'C' ? await feed.findCChain(signal) : undefined;
  const chain = isName ? named : parseField('sourceBlockchainId', text, parse);
  const chains = store.progress().map(({ chainID }) => chainID);
  const found = chains.find((chainID) => chainID === chain);
  if (found !== undefined) return found;
  if (feed.watches(chain ?? name)) {
    const message = `the feed has read no block of blockchain ${text} yet`;
    throw new HttpError('network_unavailable', message, { retryAfterMs: UNREAD_RETRY_MS });
  }
  const watched = chains.length === 0 ? 'none yet' : chains.join(', ');
  throw badRequest(`sourceBlockchainId is no watched chain; watched: ${watched}`);
}

export function parseTxHash(hash: string): string {
  if (!isTxHash(hash)) throw badRequest('txHash must be the hash of a transaction: 0x and 64 hex digits');
  return hash.toLowerCase();
}

export function isTxHash(text: string): boolean {
  return /^0x[0-9a-f]{64}$/i.test(text);
}

function parseSender(sender: string | undefined): string | undefined {
  if (sender === undefined) return undefined;
  if (!/^0x[0-9a-f]{40}$/i.test(sender)) throw badRequest('sender must be an EVM address: 0x and 40 hex digits');
  return sender.toLowerCase();
}
