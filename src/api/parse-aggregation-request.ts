import { type Static, Type } from 'typebox';
import type { AggregationRequest } from '../aggregator/aggregation-request.ts';
import { parseHex } from '../primitives/bytes.ts';
import { parseHexOrCb58Id, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH, parseUnsignedMessage } from '../warp/unsigned-message.ts';
import { BadRequest } from './error-handler.ts';

/** Justifications are a subnet ID or one RegisterL1Validator payload; 24 KiB is the bound of Warp payloads. */
const MAX_JUSTIFICATION_LENGTH = 24 * 1024;
export const DEFAULT_QUORUM_PERCENTAGE = 67;

/** Both fields at their longest in hex, and room for the rest. */
export const AGGREGATION_BODY_LIMIT = 2 * (MAX_UNSIGNED_MESSAGE_LENGTH + MAX_JUSTIFICATION_LENGTH) + 4096;

export const AggregationBody = Type.Object(
  {
    message: Type.Optional(
      Type.String({ description: 'The unsigned Warp message in hex, with an optional 0x prefix' }),
    ),
    justification: Type.Optional(
      Type.String({
        description: 'What validators need to sign some P-Chain messages, in hex with an optional 0x prefix',
      }),
    ),
    signingSubnetId: Type.Optional(
      Type.String({
        description: 'The subnet whose validators sign, in hex or cb58; the default is the subnet of the source chain',
      }),
    ),
    quorumPercentage: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: DEFAULT_QUORUM_PERCENTAGE,
        description: "Percentage of the signing subnet's weight that must sign",
      }),
    ),
    quorumPercentageBuffer: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 0,
        description: 'Percentage tried for beyond the quorum; the two add up to at most 100',
      }),
    ),
    pChainHeight: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: 'The P-Chain height whose validators sign; 0 is the proposed height',
      }),
    ),
  },
  { additionalProperties: false },
);

/** @throws {BadRequest} naming the field */
export function parseAggregationRequest(body: Static<typeof AggregationBody>): AggregationRequest {
  const quorumNum = body.quorumPercentage ?? DEFAULT_QUORUM_PERCENTAGE;
  const quorumBuffer = body.quorumPercentageBuffer ?? 0;
  if (quorumNum + quorumBuffer > 100) {
    throw new BadRequest(
      `quorumPercentageBuffer: quorumPercentage and quorumPercentageBuffer must add up to at most 100, are ${quorumNum + quorumBuffer}`,
    );
  }
  if (body.message === undefined) {
    throw new BadRequest(
      body.justification === undefined
        ? 'message is missing: either message or justification must be given'
        : 'message is missing: a justification alone is not supported yet',
    );
  }
  return {
    message: field('message', () => parseUnsignedMessage(parseHex(body.message ?? '', 'message'))),
    justification: field('justification', () => {
      const bytes = parseHex(body.justification ?? '', 'justification');
      if (bytes.length <= MAX_JUSTIFICATION_LENGTH) return bytes;
      throw new ParseError(
        'justification',
        `has ${bytes.length} bytes, at most ${MAX_JUSTIFICATION_LENGTH} are allowed`,
      );
    }),
    signingSubnetID:
      body.signingSubnetId === undefined
        ? undefined
        : field('signingSubnetId', () => parseHexOrCb58Id<SubnetID>(body.signingSubnetId ?? '', 'signingSubnetId')),
    quorumNum: BigInt(quorumNum),
    quorumBuffer: BigInt(quorumBuffer),
    pChainHeight: BigInt(body.pChainHeight ?? 0),
  };
}

function field<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    if (error.what === name) throw new BadRequest(`${name} ${error.reason}`, { cause: error });
    throw new BadRequest(`${name} is not a Warp message: ${error.message}`, { cause: error });
  }
}
