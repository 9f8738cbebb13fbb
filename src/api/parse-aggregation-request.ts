import { type Static, Type } from 'typebox';
import { type AggregationRequest, DEFAULT_QUORUM_NUM } from '../aggregator/aggregation-request.ts';
import { parseHex } from '../primitives/bytes.ts';
import { type BlockchainID, parseHexOrCb58Id, type SubnetID, type TxID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH, parseUnsignedMessage } from '../warp/unsigned-message.ts';
import { BadRequest } from './error-handler.ts';

/** Justifications are a subnet ID or one RegisterL1Validator payload; 24 KiB is the bound of Warp payloads. */
const MAX_JUSTIFICATION_LENGTH = 24 * 1024;
const DEFAULT_QUORUM_PERCENTAGE = Number(DEFAULT_QUORUM_NUM);

export const DESTINATION_DESCRIPTION =
  'The blockchain that will verify the message, in hex or cb58: validators at the P-Chain height of its current epoch sign';

/** Both fields at their longest in hex, and room for the rest. */
export const AGGREGATION_BODY_LIMIT = 2 * (MAX_UNSIGNED_MESSAGE_LENGTH + MAX_JUSTIFICATION_LENGTH) + 4096;

/** An addressed call with `hello` from fuji's C-Chain, well-formed and never sent. */
const EXAMPLE_MESSAGE =
  '0x0000000000057fc93d85c6d62c5b2ac0b519c87010ea5294012d1e407030d6acd0021cac10d5' +
  '000000270000000000010000001400000000000000000000000000000000000000000000000568656c6c6f';

export const AggregationBody = Type.Object(
  {
    message: Type.Optional(
      Type.String({ description: 'The unsigned Warp message in hex, with an optional 0x prefix' }),
    ),
    justification: Type.Optional(
      Type.String({
        description:
          'What validators need to sign some P-Chain messages, in hex with an optional 0x prefix. Without a message: a subnet ' +
          "ID asks for the message of the subnet's conversion to an L1; an L1ValidatorRegistrationJustification, or a " +
          'RegisterL1Validator payload, for the message that the validation is over',
      }),
    ),
    signingSubnetId: Type.Optional(
      Type.String({
        description:
          'The subnet whose validators sign, in hex or cb58; the default is the subnet of the source chain, and without a ' +
          "message the subnet that validates the chain of the L1's validator manager",
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
    destinationBlockchainId: Type.Optional(Type.String({ description: DESTINATION_DESCRIPTION })),
  },
  {
    additionalProperties: false,
    examples: [{ message: EXAMPLE_MESSAGE, quorumPercentage: DEFAULT_QUORUM_PERCENTAGE }],
  },
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
  const { message, justification = '', signingSubnetId, pChainHeight = 0, destinationBlockchainId } = body;
  if (message === undefined && body.justification === undefined) {
    throw new BadRequest('message is missing: either message or justification must be given');
  }
  if (pChainHeight !== 0 && destinationBlockchainId !== undefined) {
    throw new BadRequest(
      'destinationBlockchainId must not be given together with pChainHeight: each says at which height',
    );
  }
  const justificationBytes = field('justification', () => {
    const bytes = parseHex(justification, 'justification');
    if (bytes.length <= MAX_JUSTIFICATION_LENGTH) return bytes;
    throw new ParseError('justification', `has ${bytes.length} bytes, at most ${MAX_JUSTIFICATION_LENGTH} are allowed`);
  });
  return {
    subject:
      message === undefined
        ? { kind: 'justification', justification: justificationBytes }
        : {
            kind: 'message',
            message: field('message', () => parseUnsignedMessage(parseHex(message, 'message'))),
            justification: justificationBytes,
          },
    signingSubnetID:
      signingSubnetId === undefined
        ? undefined
        : field('signingSubnetId', () => parseHexOrCb58Id<SubnetID>(signingSubnetId, 'signingSubnetId')),
    quorumNum: BigInt(quorumNum),
    quorumBuffer: BigInt(quorumBuffer),
    pChainHeight: BigInt(pChainHeight),
    destinationChainID: destinationBlockchainId === undefined ? undefined : parseDestination(destinationBlockchainId),
  };
}

/** @throws {BadRequest} */
export function parseDestination(text: string): BlockchainID {
  return field('destinationBlockchainId', () => parseHexOrCb58Id<BlockchainID>(text, 'destinationBlockchainId'));
}

/** @throws {BadRequest} */
export function parseTxHash(text: string): TxID {
  return field('txHash', () => parseHexOrCb58Id<TxID>(text, 'txHash'));
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
