import { Type } from 'typebox';
import type { AggregationRequest, Subject } from '../../aggregation/request/aggregation-request.ts';
import { badRequest, HttpError } from '../../http/errors/http-error.ts';
import { parseField, parseOptionalID } from '../../http/parameters/parse-fields.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { attempt } from '../../lib/encoding/parse-error.ts';
import { messageOfLogData } from '../../pchain/codec/send-warp-log.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { parseId, type SubnetID } from '../../warp/ids.ts';
import { parseJustification, parseMessage } from '../aggregation/parse-aggregation-request.ts';
import { type GoMember, readGoObject } from './go-json.ts';

/** `ProposedHeight` of avalanchego's `vms/platformvm/api`. */
const PROPOSED_HEIGHT = 2n ** 64n - 1n;

/** Without a maximum: no number of JavaScript is 2^64 - 1. */
const HEIGHT = { minimum: 0 };
const PERCENTAGE = { minimum: 0, maximum: 100 };

const nullableText = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: ['string', 'null'], description }));
const nullableInteger = (range: object, description: string) =>
  Type.Optional(Type.Unsafe<number>({ type: ['integer', 'null'], ...range, description }));

/** The Go aggregator's request, for the OpenAPI document: {@link readGoBody} checks it. */
export const GoAggregationBody = Type.Object(
  {
    message: nullableText(
      'The unsigned Warp message in hex, with an optional 0x prefix; or the data of the log in which the Warp precompile emitted it',
    ),
    justification: nullableText('In hex, with an optional 0x prefix. Either this or the message must be given'),
    'signing-subnet-id': nullableText(
      'The subnet whose validators sign, in cb58, or in hex with 0x; the default is that of the source chain',
    ),
    'quorum-percentage': nullableInteger(
      PERCENTAGE,
      `Percentage of the signing subnet's weight that must sign; the default, also for 0, is ${DEFAULT_QUORUM_NUM}`,
    ),
    'quorum-percentage-buffer': nullableInteger(
      PERCENTAGE,
      'Percentage tried for beyond the quorum; the two add up to at most 100',
    ),
    'pchain-height': nullableInteger(
      HEIGHT,
      'The P-Chain height whose validators sign; 0, the default, and 2^64 - 1 are the proposed height',
    ),
    'p-chain-height': nullableInteger(HEIGHT, 'Alias of pchain-height'),
  },
  {
    title: 'GoAggregationRequest',
    description:
      'Names are case-insensitive, and the spellings of the aggregation route are accepted too (`signingSubnetId`). ' +
      'Other fields are ignored. An empty string, 0 and null count as a missing field',
  },
);

interface Field {
  readonly type: 'string' | 'bigint';
  /** The Go aggregator's spelling first. */
  readonly spellings: readonly string[];
}

const FIELDS = {
  message: { type: 'string', spellings: ['message'] },
  justification: { type: 'string', spellings: ['justification'] },
  subnetID: { type: 'string', spellings: ['signing-subnet-id', 'signingSubnetId'] },
  quorum: { type: 'bigint', spellings: ['quorum-percentage', 'quorumPercentage'] },
  buffer: { type: 'bigint', spellings: ['quorum-percentage-buffer', 'quorumPercentageBuffer'] },
  height: { type: 'bigint', spellings: ['pchain-height', 'p-chain-height', 'pChainHeight'] },
} as const satisfies Record<string, Field>;

/** An empty string and 0 mean that the field is missing. */
type GoBody = {
  readonly [Name in keyof typeof FIELDS]: (typeof FIELDS)[Name]['type'] extends 'string' ? string : bigint;
};

const SPELLINGS = Object.values<Field>(FIELDS).flatMap(({ type, spellings }) =>
  // Folds case by Unicode, as Go does: U+017F is an s, U+212A a k.
  spellings.map((spelling) => ({ spelling, type, folded: new RegExp(`^${spelling}$`, 'iu') })),
);

/** Reads a body as the Go aggregator does. @throws {HttpError} with the prefix of its errors */
export function readGoBody(body: string): GoBody {
  if (body === '') throw badRequest('Could not decode request body');
  const given = new Map<string, string | bigint>();
  for (const [name, value] of readMembers(body)) {
    // Folding does not change lengths, which are compared first: a body may have many unknown names.
    const known = SPELLINGS.find(({ spelling, folded }) => spelling.length === name.length && folded.test(name));
    // The last of equal names counts, but null changes nothing.
    if (known === undefined || value === null) continue;
    const { spelling, type } = known;
    if (typeof value !== type) {
      const wanted = type === 'string' ? 'a string' : 'an integer from 0 to 2^64 - 1, without fraction and exponent';
      throw badRequest(`Could not decode request body: ${spelling} must be ${wanted}`);
    }
    given.set(spelling, value as string | bigint);
  }
  const fields = Object.entries(FIELDS).map(([name, { type, spellings }]) => {
    return [name, onlyOne(spellings, given) ?? (type === 'string' ? '' : 0n)];
  });
  return Object.fromEntries(fields) as GoBody;
}

function readMembers(body: string): readonly GoMember[] {
  const members = attempt(() => readGoObject(body), SyntaxError);
  if (!(members instanceof Error)) return members;
  throw badRequest('Could not decode request body: it does not begin with a JSON object', { cause: members });
}

/** Returns the value that is not empty. @throws {HttpError} if two spellings have different values */
function onlyOne(spellings: readonly string[], given: ReadonlyMap<string, string | bigint>) {
  const [first, ...others] = spellings.filter((spelling) => given.get(spelling));
  const other = others.find((spelling) => given.get(spelling) !== given.get(first as string));
  if (other !== undefined) {
    throw badRequest(`Could not decode request body: ${first} and ${other} are aliases and must not differ`);
  }
  return first === undefined ? undefined : given.get(first);
}

/** @throws {HttpError} with the prefix of the Go aggregator's error */
export function parseGoRequest(body: GoBody): AggregationRequest {
  const quorumNum = body.quorum === 0n ? undefined : body.quorum;
  const subject = parseSubject(body);
  const total = (quorumNum ?? DEFAULT_QUORUM_NUM) + body.buffer;
  if (body.quorum > 100n) {
    throw badRequest(`Invalid quorum number: quorum-percentage must be an integer from 0 to 100`);
  }
  if (total > 100n) {
    throw badRequest(
      `Invalid quorum buffer number: it and quorum-percentage add up to ${total}, at most 100 are allowed`,
    );
  }
  return {
    subject,
    signingSubnetID: withGoPrefix('Error parsing signing subnet ID', () => parseSubnetID(body.subnetID || undefined)),
    quorumNum,
    quorumBuffer: body.buffer === 0n ? undefined : body.buffer,
    pChainHeight: body.height === 0n || body.height === PROPOSED_HEIGHT ? undefined : body.height,
  };
}

function parseSubject(body: GoBody): Subject {
  // The Go aggregator accepts the data of a `SendWarpMessage` log as a message.
  const text = messageOfLogData(body.message) ?? body.message;
  withGoPrefix('Could not decode message', () => parseField('message', text, () => parseHex(text, 'message')));
  const isJustificationAlone = isEmptyOrZeros(text) && !isEmptyOrZeros(body.justification);
  const message = isJustificationAlone ? undefined : withGoPrefix('Error unpacking warp message', () => unpack(text));
  const justification = withGoPrefix('Could not decode justification', () =>
    parseField('justification', body.justification, () => parseJustification(body.justification)),
  );
  if (message === undefined) return { kind: 'justification', justification };
  if (isEmptyOrZeros(text)) throw badRequest('Must provide either message or justification');
  return { kind: 'message', message, justification };
}

function unpack(text: string) {
  if (text === '') throw badRequest('either message or justification must be given');
  return parseField('message', text, () => parseMessage(text));
}

function isEmptyOrZeros(hex: string): boolean {
  return /^(0x)?0*$/.test(hex);
}

/** Hex needs 0x here; other texts are cb58. */
function parseSubnetID(text: string | undefined): SubnetID | undefined {
  const name = 'signing-subnet-id';
  if (text === undefined || text.startsWith('0x')) return parseOptionalID<SubnetID>(name, text);
  return parseField(name, text, () => parseId<SubnetID>(text, name));
}

/** Puts the Go aggregator's prefix before our message. */
function withGoPrefix<T>(words: string, parse: () => T): T {
  const value = attempt(parse, HttpError);
  if (!(value instanceof HttpError)) return value;
  throw badRequest(`${words}: ${value.message}`, { cause: value });
}
