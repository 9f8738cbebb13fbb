import type { Static } from 'typebox';
import { type AggregationRequest, DEFAULT_QUORUM_NUM } from '../../aggregator/aggregation-request.ts';
import { parseHex } from '../../primitives/bytes.ts';
import { parseId, type SubnetID } from '../../primitives/ids.ts';
import { Type } from '../../primitives/schema.ts';
import { badRequest, HttpError } from '../http-error.ts';
import { parseJustification, parseSubject } from '../parse-aggregation-request.ts';
import { parseField, parseOptionalID } from '../parse-fields.ts';

const HEIGHT = {
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The P-Chain height whose validators sign; 0, the default, is the proposed height',
};

/** Null is the same as nothing, and is taken out before the body is checked. */
const text = (options: object) => Type.Optional(Type.Unsafe<string>({ type: ['string', 'null'], ...options }));
const integer = (options: object) => Type.Optional(Type.Unsafe<number>({ type: ['integer', 'null'], ...options }));

/** The Go aggregator's request. It takes fields that it does not know, and counts an empty text, 0 and null as left out. */
export const GoAggregationBody = Type.Object({
  message: text({
    description:
      'The unsigned Warp message in hex, with an optional 0x prefix; or the data of the log in which the Warp precompile emitted it',
  }),
  justification: text({ description: 'In hex, with an optional 0x prefix. Either this or the message must be given' }),
  'signing-subnet-id': text({
    description:
      'The subnet whose validators sign, in cb58, or in hex with 0x; the default is that of the source chain',
  }),
  'quorum-percentage': integer({
    minimum: 0,
    maximum: 100,
    description: `Percentage of the signing subnet's weight that must sign; the default, also for 0, is ${DEFAULT_QUORUM_NUM}`,
  }),
  'quorum-percentage-buffer': integer({
    minimum: 0,
    maximum: 100,
    description: 'Percentage tried for beyond the quorum; the two add up to at most 100',
  }),
  'pchain-height': integer(HEIGHT),
  'p-chain-height': integer({ ...HEIGHT, description: 'The same by its other name' }),
});

/** @throws {HttpError} that begins with the words that the Go aggregator has for it */
export function parseGoRequest(body: Static<typeof GoAggregationBody>): AggregationRequest {
  const message = unwrapLogData(body.message ?? '');
  const justification = body.justification ?? '';
  const subnet = body['signing-subnet-id'] || undefined;
  inGoWords('Could not decode message', () => parseField('message', message, () => parseHex(message, 'message')));
  inGoWords('Could not decode justification', () =>
    parseField('justification', justification, () => parseJustification(justification)),
  );
  if (isEmptyOrZeros(message) && isEmptyOrZeros(justification)) {
    throw badRequest('Must provide either message or justification');
  }
  return {
    subject: inGoWords('Error unpacking warp message', () =>
      parseSubject({ ...(!isEmptyOrZeros(message) && { message }), justification }),
    ),
    signingSubnetID: inGoWords('Error parsing signing subnet ID', () => parseSubnetID(subnet)),
    quorumNum: givenNumber(body['quorum-percentage']),
    quorumBuffer: givenNumber(body['quorum-percentage-buffer']),
    pChainHeight: givenNumber(heightOf(body)),
  };
}

function heightOf(body: Static<typeof GoAggregationBody>): number | undefined {
  const { 'pchain-height': height, 'p-chain-height': other } = body;
  if (height && other && height !== other) {
    throw badRequest('pchain-height and p-chain-height are the same setting by two names, and must not differ');
  }
  return height || other;
}

/** Undefined for 0, which stands for the default there. */
function givenNumber(value: number | undefined): bigint | undefined {
  return value ? BigInt(value) : undefined;
}

function isEmptyOrZeros(hex: string): boolean {
  return /^(0x)?0*$/.test(hex);
}

/** Hex needs its 0x: without it, a text is cb58 and nothing else. */
function parseSubnetID(text: string | undefined): SubnetID | undefined {
  const name = 'signing-subnet-id';
  if (text === undefined || text.startsWith('0x')) return parseOptionalID<SubnetID>(name, text);
  return parseField(name, text, () => parseId<SubnetID>(text, name));
}

/** Digits of the two numbers of 32 bytes that stand before it, its place and its length. */
const LOG_DATA_HEADER = 128;
/** The place, 32, which no Warp message can start with: its network ID would be 0. */
const LOG_DATA_START = '20'.padStart(64, '0');

/**
 * The Go aggregator takes the data of a `SendWarpMessage` log as it is, which is the ABI's encoding of one field of bytes, and its
 * README tells people to send that. Any other text is given back.
 */
function unwrapLogData(text: string): string {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (!digits.startsWith(LOG_DATA_START)) return text;
  const length = Number.parseInt(digits.slice(LOG_DATA_START.length, LOG_DATA_HEADER), 16);
  const message = digits.slice(LOG_DATA_HEADER, LOG_DATA_HEADER + 2 * length);
  return message.length === 2 * length ? message : text;
}

/** Its clients know these words; what comes after them is ours, and says more. */
function inGoWords<T>(words: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw badRequest(`${words}: ${error.message}`, { cause: error });
  }
}
