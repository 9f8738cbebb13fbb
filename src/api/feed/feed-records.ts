import { type Static, type TSchema, Type } from 'typebox';
import { expiryWarnings } from '../../aggregation/signers/delivery-warnings.ts';
import { type ChainProgress, type FeedMessage, MESSAGE_STATUSES } from '../../feed/feed-message.ts';
import type { EventStreamDescription } from '../../http/request/http-server.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { inJson, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import { readPayload } from '../../warp/reading.ts';
import { DELIVERY_FIELDS, presentAdvice } from '../aggregation/delivery-records.ts';
import { AccessList, type Included, presentIncluded } from '../aggregation/signed-message-record.ts';
import { MESSAGE, presentMessage } from '../messages/message-records.ts';

const UnixMs = (description: string) => integer(`${description}, Unix time in milliseconds`);

const MessageFailure = Type.Object(
  {
    code: text('The code of the last error, as POST has it'),
    message: text('Explanation'),
    attempts: integer('Attempts so far'),
    failedAt: UnixMs('End of the last attempt'),
  },
  {
    title: 'MessageFailure',
    description: 'Why a message has failed. It is tried again, less and less often, until it is removed',
  },
);

export const FEED_MESSAGE = {
  ...MESSAGE,
  destinationBlockchainId: optionalText('Of a Teleporter message, in cb58: the blockchain that it is for'),
  sender: text('The contract or account that sent it: an EVM address, with 0x'),
  blockNumber: integer(),
  blockHash: text('With 0x'),
  blockTime: UnixMs('Timestamp of the block'),
  txHash: text('The transaction, with 0x'),
  logIndex: integer('Index of the log in its block'),
  executedAt: UnixMs("When the service first saw the block's receipts"),
  unsignedMessage: optionalText(
    'In hex, without a prefix. Events of signed messages leave it out: the signed message begins with it',
  ),
  status: oneOf(
    MESSAGE_STATUSES,
    '`pending`: it is being signed; `signed`: it has a quorum; `failed`: it could not be signed until now, and is tried again',
  ),
  failure: Type.Optional(MessageFailure),
  signedMessage: optionalText('The signed message in hex, without a prefix; this and the next fields if it is signed'),
  signedAt: Type.Optional(UnixMs('When it was signed')),
  signingSubnetId: optionalText('The subnet whose validators signed, in cb58'),
  pChainHeight: Type.Optional(integer('The P-Chain height whose validators signed')),
  signedWeight: optionalText('Weight of the signers'),
  totalWeight: optionalText('Weight of all validators of the subnet'),
  quorumPercentage: Type.Optional(integer('Percent of the weight that signed, rounded down')),
  accessList: Type.Optional(AccessList),
  warnings: DELIVERY_FIELDS.warnings,
};

export const FeedMessageRecord = Type.Object(FEED_MESSAGE, {
  title: 'FeedMessage',
  description: 'A Warp message of a watched chain',
});
export type FeedMessageRecord = Static<typeof FeedMessageRecord>;

const ChainRecord = Type.Object(
  {
    blockchainId: text('In cb58'),
    watermark: Type.Object(
      { blockNumber: integer(), blockHash: text('With 0x'), blockTime: UnixMs('Timestamp of the block') },
      { title: 'FeedWatermark', description: 'All blocks up to this one were read' },
    ),
    confirmed: integer('A second reading, some minutes after the first, has found all messages up to this block'),
    signedThrough: integer('All messages up to this block are signed or failed'),
  },
  { title: 'FeedChain', description: 'How far a watched chain was read' },
);

export const MessagePage = Type.Object(
  {
    messages: Type.Array(FeedMessageRecord, {
      description:
        'In the order of their last changes; those of a first page, or of the first one at another replica, in order per chain',
    }),
    nextCursor: text('The cursor of the next page'),
    hasMore: Type.Boolean({
      description: 'Whether more messages may be stored after the page. If not, ask again some time later',
    }),
    chains: Type.Array(ChainRecord, { description: 'The chains of the query' }),
  },
  { title: 'MessagePage', description: 'Messages of watched chains' },
);

export type MessagePageBody = Static<typeof MessagePage>;

const Id = { id: text('The cursor after the event, for Last-Event-ID') };

export const FEED_EVENTS = {
  message: { fields: Id, data: FeedMessageRecord },
  watermark: {
    fields: Id,
    data: Type.Object(
      {
        chains: Type.Array(ChainRecord, {
          description:
            'The chains of the query; none while stored messages are being sent. All messages up to `signedThrough` were sent on this connection, or ' +
            'before its cursor',
        }),
      },
      { title: 'WatermarkEvent', description: 'Every few seconds: how far the chains were read' },
    ),
  },
  expired: {
    fields: {},
    data: Type.Object(
      { message: text(), oldestCursor: text('The cursor of the oldest messages that are stored') },
      {
        title: 'ExpiredEvent',
        description:
          'The end: messages after the cursor were removed, or never stored by a service that has restarted, or the cursor is of an earlier version',
      },
    ),
  },
  lagging: {
    fields: Id,
    data: Type.Object(
      { message: text() },
      { title: 'LaggingEvent', description: 'The end: the client does not read fast enough. Resume with the cursor' },
    ),
  },
} as const satisfies Record<string, { readonly fields: Record<string, TSchema>; readonly data: TSchema }>;

/** The response to `Accept: text/event-stream`. */
export const FEED_STREAM: EventStreamDescription = {
  description: 'the messages after the cursor, and then each new one, as server-sent events',
  event: Type.Union(
    Object.entries(FEED_EVENTS).map(([kind, { fields, data }]) =>
      Type.Object({ event: Type.Literal(kind), ...fields, data }),
    ),
    {
      title: 'FeedEvent',
      description:
        'One event: the texts after `id:` and `event:`, and the JSON after `data:`, whose lines a client joins. A line has at most 60,000 bytes, an event some 200,000',
    },
  ),
};

/** Bytes whose hex has room in a line of 60,000 characters. EVM chains send no longer payloads than 24 KiB. */
const MAX_EVENT_BYTES = 29_900;
const TOO_LONG = { kind: 'unknown', bytes: '', reason: 'too long for an event: read the message by its ID' } as const;

/** Presents a message for an event, without bytes that would be twice in it or too long for a line. */
export function presentEventMessage(message: FeedMessage, nowMs: number, included: Included): FeedMessageRecord {
  const { unsignedMessage, signedMessage, payload, ...record } = presentFeedMessage(message, nowMs, included);
  const fits = (hex: string | undefined): hex is string => hex !== undefined && hex.length <= 2 * MAX_EVENT_BYTES;
  return {
    ...record,
    payload: message.message.payload.length <= MAX_EVENT_BYTES ? payload : TOO_LONG,
    ...(fits(signedMessage) ? { signedMessage } : fits(unsignedMessage) && { unsignedMessage }),
  };
}

/** @param nowMs Unix time */
export function presentFeedMessage(emitted: FeedMessage, nowMs: number, included: Included = {}): FeedMessageRecord {
  const { message, outcome } = emitted;
  return {
    ...presentMessage(message, readPayload(message.payload)),
    ...inJson({ destinationBlockchainId: emitted.destinationChainID }),
    sender: emitted.sender,
    blockNumber: emitted.blockNumber,
    blockHash: emitted.blockHash,
    blockTime: emitted.blockTimeMs,
    txHash: emitted.txHash,
    logIndex: emitted.logIndex,
    executedAt: emitted.executedMs,
    unsignedMessage: bytesToHex(message.bytes),
    status: outcome.status,
    ...presentOutcome(outcome, included),
    ...presentAdvice({ epoch: undefined, warnings: expiryWarnings(message, nowMs) }),
  };
}

function presentOutcome(outcome: FeedMessage['outcome'], included: Included): Partial<FeedMessageRecord> {
  switch (outcome.status) {
    case 'pending':
      return {};
    case 'failed': {
      const { code, reason, attempts, failedMs } = outcome;
      return { failure: { code, message: reason, attempts, failedAt: failedMs } };
    }
    case 'signed':
      return {
        signedMessage: bytesToHex(outcome.signedMessage),
        signedAt: outcome.signedMs,
        signingSubnetId: outcome.signingSubnetID,
        pChainHeight: Number(outcome.pChainHeight),
        signedWeight: String(outcome.signedWeight),
        totalWeight: String(outcome.totalWeight),
        ...(outcome.totalWeight > 0n && {
          quorumPercentage: Number((100n * outcome.signedWeight) / outcome.totalWeight),
        }),
        ...presentIncluded(outcome, included),
      };
  }
}

export function presentChain({
  chainID,
  watermark,
  signedThrough,
  confirmed,
}: ChainProgress): Static<typeof ChainRecord> {
  const { blockNumber, blockHash, blockTimeMs } = watermark;
  return {
    blockchainId: chainID,
    watermark: { blockNumber, blockHash, blockTime: blockTimeMs },
    signedThrough,
    confirmed,
  };
}
