import {
  type AggregationRequest,
  DEFAULT_QUORUM_NUM,
  type Subject,
} from '../../aggregation/request/aggregation-request.ts';
import { badRequest, HttpError } from '../../http/errors/http-error.ts';
import { parseField, parseOptionalID } from '../../http/parameters/parse-fields.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { parseId, type SubnetID } from '../../warp/ids.ts';
import { parseJustification, parseMessage } from '../aggregation/parse-aggregation-request.ts';
import { type GoMember, readGoObject } from './go-json.ts';

/** `ProposedHeight` of avalanchego's `vms/platformvm/api`. */
const PROPOSED_HEIGHT = 2n ** 64n - 1n;

const HEIGHT = {
  minimum: 0,
  maximum: Number(PROPOSED_HEIGHT),
  description: 'The P-Chain height whose validators sign; 0, the default, and 2^64 - 1 are the proposed height',
};

const text = (options: object) => Type.Optional(Type.Unsafe<string>({ type: ['string', 'null'], ...options }));
const integer = (options: object) => Type.Optional(Type.Unsafe<number>({ type: ['integer', 'null'], ...options }));

/** The Go aggregator's request, for the document: {@link readGoBody} checks it. */
export const GoAggregationBody = Type.Object(
  {
    message: text({
      description:
        'The unsigned Warp message in hex, with an optional 0x prefix; or the data of the log in which the Warp precompile emitted it',
    }),
    justification: text({
      description: 'In hex, with an optional 0x prefix. Either this or the message must be given',
    }),
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
  },
  {
    description:
      'Names are matched without regard to case, and are also accepted as the aggregation route spells them (`signingSubnetId`). ' +
      'Other fields are ignored. An empty text, 0 and null are the same as a field that is left out',
  },
);

/** A request as it was sent. An empty text and 0 are "not given". */
export interface GoBody {
  readonly message: string;
  readonly justification: string;
  readonly subnetID: string;
  readonly quorum: bigint;
  readonly buffer: bigint;
  readonly height: bigint;
}

interface Field {
  readonly type: 'string' | 'bigint';
  /** The first is the Go aggregator's. */
  readonly spellings: readonly string[];
}

const FIELDS = {
  message: { type: 'string', spellings: ['message'] },
  justification: { type: 'string', spellings: ['justification'] },
  subnetID: { type: 'string', spellings: ['signing-subnet-id', 'signingSubnetId'] },
  quorum: { type: 'bigint', spellings: ['quorum-percentage', 'quorumPercentage'] },
  buffer: { type: 'bigint', spellings: ['quorum-percentage-buffer', 'quorumPercentageBuffer'] },
  height: { type: 'bigint', spellings: ['pchain-height', 'p-chain-height', 'pChainHeight'] },
} as const satisfies Record<keyof GoBody, Field>;

interface Spelling {
  readonly spelling: string;
  readonly type: Field['type'];
  /** Folds case as Go does, where a long s is an s and the sign of the kelvin a k. */
  readonly folded: RegExp;
}

const SPELLINGS = new Map(
  Object.values(FIELDS).flatMap(({ type, spellings }) =>
    spellings.map((spelling): [string, Spelling] => [
      spelling,
      { spelling, type, folded: new RegExp(`^${spelling}$`, 'iu') },
    ]),
  ),
);

/** Reads a body as the Go aggregator does. @throws {HttpError} that begins with its words */
export function readGoBody(body: string): GoBody {
  if (body === '') throw badRequest('Could not decode request body');
  const given = new Map<string, string | bigint>();
  for (const [name, value] of readMembers(body)) {
    const known = SPELLINGS.get(name) ?? findFolded(name);
    // Of equal names the last one counts, but null changes nothing.
    if (known === undefined || value === null) continue;
    const { spelling, type } = known;
    if (typeof value !== type) {
      const wanted = type === 'string' ? 'a string' : 'an integer from 0 to 2^64 - 1, without fraction and exponent';
      throw badRequest(`Could not decode request body: ${spelling} must be ${wanted}`);
    }
    given.set(spelling, value as string | bigint);
  }
  const text = ({ spellings }: Field) => (onlyOne(spellings, given) ?? '') as string;
  const integer = ({ spellings }: Field) => (onlyOne(spellings, given) ?? 0n) as bigint;
  return {
    message: text(FIELDS.message),
    justification: text(FIELDS.justification),
    subnetID: text(FIELDS.subnetID),
    quorum: integer(FIELDS.quorum),
    buffer: integer(FIELDS.buffer),
    height: integer(FIELDS.height),
  };
}

/** Folding case changes no length. A body may have very many names that are not known. */
function findFolded(name: string): Spelling | undefined {
  for (const known of SPELLINGS.values()) {
    if (known.spelling.length === name.length && known.folded.test(name)) return known;
  }
  return undefined;
}

function readMembers(body: string): readonly GoMember[] {
  try {
    return readGoObject(body);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw badRequest('Could not decode request body: it does not begin with a JSON object', { cause });
  }
}

/** The value that is not empty. @throws {HttpError} where two differ */
function onlyOne(spellings: readonly string[], given: ReadonlyMap<string, string | bigint>) {
  const [first, ...others] = spellings.filter((spelling) => given.get(spelling));
  const other = others.find((spelling) => given.get(spelling) !== given.get(first as string));
  if (other !== undefined) {
    throw badRequest(
      `Could not decode request body: ${first} and ${other} are the same setting by two names, and must not differ`,
    );
  }
  return first === undefined ? undefined : given.get(first);
}

/** @throws {HttpError} that begins with the words that the Go aggregator has for it */
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
    signingSubnetID: inGoWords('Error parsing signing subnet ID', () => parseSubnetID(body.subnetID || undefined)),
    quorumNum,
    quorumBuffer: body.buffer === 0n ? undefined : body.buffer,
    pChainHeight: body.height === 0n || body.height === PROPOSED_HEIGHT ? undefined : body.height,
  };
}

function parseSubject(body: GoBody): Subject {
  const text = unwrapLogData(body.message);
  inGoWords('Could not decode message', () => parseField('message', text, () => parseHex(text, 'message')));
  const isJustificationAlone = isEmptyOrZeros(text) && !isEmptyOrZeros(body.justification);
  const message = isJustificationAlone ? undefined : inGoWords('Error unpacking warp message', () => unpack(text));
  const justification = inGoWords('Could not decode justification', () =>
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
