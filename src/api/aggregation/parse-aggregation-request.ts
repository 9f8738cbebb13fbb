import { LRUCache } from 'lru-cache';
import { type Static, Type } from 'typebox';
import type { AggregationRequest, Subject } from '../../aggregation/request/aggregation-request.ts';
import { badRequest } from '../../http/errors/http-error.ts';
import { parseField, parseOptionalID, toBigInt } from '../../http/parameters/parse-fields.ts';
import { HEIGHT_PARAMETERS, percentage } from '../../http/parameters/query-parameters.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { oneOf, optionalText } from '../../lib/encoding/schema.ts';
import { loggedMessage } from '../../pchain/codec/logged-message.ts';
import { parseEvmChainID } from '../../pchain/rpc/evm-api.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { type BlockchainID, P_CHAIN_ID, parseHexOrCb58Id, type SubnetID, type TxID } from '../../warp/ids.ts';
import { parseSignedMessage } from '../../warp/signed-message.ts';
import {
  MAX_UNSIGNED_MESSAGE_LENGTH,
  parseUnsignedMessage,
  type UnsignedMessage,
} from '../../warp/unsigned-message.ts';

/** Justifications are a subnet ID or one RegisterL1Validator payload; 24 KiB is the bound of Warp payloads. */
const MAX_JUSTIFICATION_LENGTH = 24 * 1024;

const NO_JUSTIFICATION = new Uint8Array();

const DESTINATION_DESCRIPTION =
  'The blockchain that will verify the message, in hex or cb58: the validators that it accepts sign, with its quorum, at the P-Chain ' +
  'height of its current epoch, except for what the request names';

/** The longest message and justification in hex, and the other fields. */
export const AGGREGATION_BODY_LIMIT = 2 * (MAX_UNSIGNED_MESSAGE_LENGTH + MAX_JUSTIFICATION_LENGTH) + 4096;

const QUORUM_PARAMETERS = {
  quorumPercentage: percentage(
    DEFAULT_QUORUM_NUM,
    "Percentage of the signing subnet's weight that must sign; with a destination, the default is the destination's",
  ),
  quorumPercentageBuffer: percentage(0n, 'Percentage tried for beyond the quorum; the two add up to at most 100'),
};

export const AggregationBody = Type.Object(
  {
    message: optionalText(
      'The unsigned Warp message, or the data of the SendWarpMessage log that emitted it, in hex with an optional 0x prefix; an ' +
        'empty string counts as none',
    ),
    justification: optionalText(
      'What validators need to sign some P-Chain messages, in hex with an optional 0x prefix. Without a message: a subnet ' +
        "ID asks for the message of the subnet's conversion to an L1; an L1ValidatorRegistrationJustification, or a " +
        'RegisterL1Validator payload, for the message that the validation is over. An empty string counts as none',
    ),
    signingSubnetId: optionalText(
      'The subnet whose validators sign, in hex or cb58; the default is the one that the destination accepts, without a destination the ' +
        "subnet of the source chain, and without a message the subnet that validates the chain of the L1's validator manager. " +
        'An empty string counts as none',
    ),
    ...QUORUM_PARAMETERS,
    pChainHeight: HEIGHT_PARAMETERS.pChainHeight,
    pchainHeight: Type.Optional({
      ...HEIGHT_PARAMETERS.pChainHeight,
      description: 'The same as pChainHeight, as the Go SDK spells it',
    }),
    destinationBlockchainId: optionalText(DESTINATION_DESCRIPTION),
  },
  { title: 'AggregationRequest', additionalProperties: false },
);

export const INCLUDE = Type.Optional(
  oneOf(['accessList'], 'Adds the access list of the transaction that delivers the message to an EVM chain'),
);

const ANSWER_PARAMETERS = {
  include: INCLUDE,
  wait: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 30,
      default: 0,
      description:
        'Seconds in which the transaction may still be accepted and executed, and its signers may become known: validators of a new L1, a ' +
        'network that opens, an API that does not answer. The time for signatures begins after it, and the answer comes as soon as the ' +
        'message is signed',
    }),
  ),
};

export const MessageQuery = Type.Object(ANSWER_PARAMETERS);

export const TransactionQuery = Type.Object(
  {
    blockchainId: optionalText(
      'The EVM chain of the transaction: its ID in hex or cb58, or C for the C-Chain. Without it the P-Chain is asked; then, for ' +
        'a txHash of 0x and 64 digits that it does not know, the C-Chain and the chains of tracked subnets',
    ),
    logIndex: optionalText(
      'The logIndex of the message in the receipt, in decimal or hex, if an EVM transaction sent several',
    ),
    signingSubnetId: optionalText(
      'The subnet whose validators sign, in hex or cb58; the default is the one that the destination accepts, without a destination the ' +
        'subnet of the source chain',
    ),
    ...QUORUM_PARAMETERS,
    pChainHeight: HEIGHT_PARAMETERS.pChainHeight,
    destinationBlockchainId: optionalText(
      `${DESTINATION_DESCRIPTION}. The default is the destination of a Teleporter message, and for a message of the P-Chain the chain of the L1's validator manager; at the proposed height if the epoch cannot be read`,
    ),
    ...ANSWER_PARAMETERS,
  },
  { additionalProperties: false },
);

/** The fields that POST and GET share. */
interface SettingsFields {
  readonly signingSubnetId?: string | undefined;
  readonly quorumPercentage?: number | undefined;
  readonly quorumPercentageBuffer?: number | undefined;
  readonly pChainHeight?: number | undefined;
  readonly destinationBlockchainId?: string | undefined;
}

/** Parses the body of a POST. @throws {HttpError} naming the field */
export function parseAggregationRequest(body: Static<typeof AggregationBody>): AggregationRequest {
  const signingSubnetId = body.signingSubnetId || undefined;
  return { subject: parseSubject(body), ...parseSettings({ ...body, signingSubnetId, pChainHeight: heightOf(body) }) };
}

/** Parses the choice of signers. @throws {HttpError} naming the field or parameter */
function parseSettings(given: SettingsFields): Omit<AggregationRequest, 'subject'> {
  return {
    signingSubnetID: parseOptionalID<SubnetID>('signingSubnetId', given.signingSubnetId),
    quorumNum: toBigInt(given.quorumPercentage),
    quorumBuffer: toBigInt(given.quorumPercentageBuffer),
    pChainHeight: toBigInt(given.pChainHeight),
    destinationChainID: parseOptionalID<BlockchainID>('destinationBlockchainId', given.destinationBlockchainId),
  };
}

/** Parses the parameters of a GET. @throws {HttpError} naming the parameter */
export function parseTransactionRequest(
  txHash: string,
  { blockchainId, logIndex, ...query }: Omit<Static<typeof TransactionQuery>, 'wait' | 'include'>,
): AggregationRequest {
  const txID = parseField('txHash', txHash, () => parseHexOrCb58Id<TxID>(txHash, 'txHash'));
  const chain =
    blockchainId === undefined
      ? undefined
      : parseField('blockchainId', blockchainId, () => parseEvmChainID(blockchainId, 'blockchainId'));
  const isOfEvm = txHash.startsWith('0x') && chain !== P_CHAIN_ID;
  if (!isOfEvm && ((chain ?? P_CHAIN_ID) !== P_CHAIN_ID || logIndex !== undefined)) {
    throw badRequest(
      'txHash must be the hash of an EVM transaction, 0x and 64 hex digits, for blockchainId and logIndex',
    );
  }
  return {
    followsTeleporter: true,
    subject: { kind: 'transaction', txID, ...(isOfEvm && { evm: { chain, logIndex: parseLogIndex(logIndex) } }) },
    ...parseSettings(query),
  };
}

/** In decimal, or in hex with `0x` as in a receipt; 32 bits. @throws {HttpError} */
function parseLogIndex(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^(?:0x[0-9a-f]{1,8}|\d{1,9})$/i.test(text)) return Number(text);
  throw badRequest('logIndex must be the logIndex of a log in the receipt, such as 3 or 0x3');
}

/** @throws {HttpError} if the two spellings have different values */
function heightOf({ pChainHeight, pchainHeight }: Static<typeof AggregationBody>): number | undefined {
  if (pChainHeight && pchainHeight && pChainHeight !== pchainHeight) {
    throw badRequest('pChainHeight and pchainHeight are aliases and must not differ');
  }
  return pchainHeight || pChainHeight;
}

function parseSubject({ message, justification: given }: Static<typeof AggregationBody>): Subject {
  if (!message && !given) throw badRequest('message is missing: either message or justification must be given');
  const justification = given ? parseField('justification', given, () => parseJustification(given)) : NO_JUSTIFICATION;
  if (!message) return { kind: 'justification', justification };
  return { kind: 'message', message: parseField('message', message, () => parseMessage(message)), justification };
}

/** Recently parsed messages: relayers repeat a request until it is signed. Texts and bytes together are bounded to 1 MiB. */
const parsedMessages = new LRUCache<string, UnsignedMessage>({
  maxSize: 1024 * 1024,
  // Long messages rarely repeat.
  maxEntrySize: 16 * 1024,
  sizeCalculation: ({ bytes }, text) => text.length + 2 * bytes.length + 512,
});

/** @throws {ParseError} */
export function parseMessage(text: string): UnsignedMessage {
  const known = parsedMessages.get(text);
  if (known !== undefined) return known;
  const message = parseNewMessage(text);
  parsedMessages.set(text, message);
  return message;
}

function parseNewMessage(text: string): UnsignedMessage {
  const given = parseHex(text, 'message');
  const bytes = loggedMessage(given, 'message') ?? given;
  const message = attempt(() => parseUnsignedMessage(bytes));
  if (!(message instanceof ParseError)) return message;
  const signed = attempt(() => parseSignedMessage(bytes));
  if (signed instanceof ParseError) throw message;
  const { length } = signed.unsignedMessage.bytes;
  const advice = `to have it signed again, send its unsigned part, the first ${length} bytes`;
  throw new ParseError('message', `is signed already: ${advice}`, { cause: message });
}

/** @throws {ParseError} */
export function parseJustification(text: string): Uint8Array {
  const bytes = parseHex(text, 'justification');
  if (bytes.length <= MAX_JUSTIFICATION_LENGTH) return bytes;
  throw new ParseError('justification', `has ${bytes.length} bytes, at most ${MAX_JUSTIFICATION_LENGTH} are allowed`);
}
