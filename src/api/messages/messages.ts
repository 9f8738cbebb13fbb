import { type Static, Type } from 'typebox';
import { bodyErrorResponses, plainErrorResponses } from '../../http/errors/error-body.ts';
import { badRequest } from '../../http/errors/http-error.ts';
import { parseField, parseOptionalID, toBigInt } from '../../http/parameters/parse-fields.ts';
import { HEIGHT_PARAMETERS, refuseQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { LOOKUP_ACCESS, VIEW_ACCESS } from '../../http/request/route-access.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { oneOf, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import type { BlockchainID, SubnetID } from '../../warp/ids.ts';
import { READING_FORMS } from '../../warp/reading.ts';
import type { SignedMessage } from '../../warp/signed-message.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH } from '../../warp/unsigned-message.ts';
import { AggregationBody } from '../aggregation/parse-aggregation-request.ts';
import { SIGNED_EXAMPLE } from '../aggregation/signed-message-record.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';
import { DecodeResult, presentData } from './message-records.ts';
import { readData } from './read-data.ts';
import { parseOnlySigned, presentBasis, presentReport, VerificationResult } from './verification-record.ts';

const PATH = '/v1/signatureAggregator/:network';
const tags = ['Signature aggregation'];
/** The longest signed message in hex, with 8 KiB of signer bits, and the other fields. */
const BODY_LIMIT = 2 * (MAX_UNSIGNED_MESSAGE_LENGTH + 16 * 1024) + 4096;

const { signingSubnetId, quorumPercentage } = AggregationBody.properties;

const VerificationBody = Type.Object(
  {
    signedMessage: text(
      'The signed Warp message in hex, with an optional 0x prefix; ABI-encoded as the data of a log, too',
    ),
    signingSubnetId,
    quorumPercentage,
    ...HEIGHT_PARAMETERS,
  },
  {
    title: 'VerificationRequest',
    additionalProperties: false,
    examples: [{ signedMessage: SIGNED_EXAMPLE, quorumPercentage: 67 }],
  },
);
export type VerificationBody = Static<typeof VerificationBody>;

const DecodeBody = Type.Object(
  {
    data: text(
      'What is to be read, in hex with an optional 0x prefix: a Warp message, signed or not, the data of the ' +
        'SendWarpMessage log that emitted it, a payload, the content of an addressed call, or a justification',
    ),
    as: Type.Optional(oneOf(READING_FORMS, 'The form to read it as; by default every form that fits')),
  },
  { title: 'DecodeRequest', additionalProperties: false, examples: [{ data: SIGNED_EXAMPLE }] },
);

/** Routes that decode and verify messages. JSON.stringify serializes their unions faster than a compiled serializer. */
export function registerMessages(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.post(
    `${PATH}/verify`,
    {
      config: { access: VIEW_ACCESS },
      bodyLimit: BODY_LIMIT,
      schema: {
        operationId: 'verifySignedMessage',
        tags,
        summary: 'Verify a signed Warp message as a destination would, and return its signers and their weight',
        params: Type.Object({ network }),
        body: VerificationBody,
        response: { 200: VerificationResult, ...aggregationErrorResponses(400, 404, 500, 502, 503) },
      },
      onRequest,
      preValidation: refuseQuery,
      serializerCompiler: PLAIN_SERIALIZER,
    },
    async (request, reply) => {
      const { body } = request;
      const message = parseSigned(body.signedMessage);
      const report = await networkOf(request).verifier.verify(
        {
          message,
          signingSubnetID: parseOptionalID<SubnetID>('signingSubnetId', body.signingSubnetId),
          quorumNum: toBigInt(body.quorumPercentage),
          pChainHeight: toBigInt(body.pChainHeight),
          destinationChainID: parseOptionalID<BlockchainID>('destinationBlockchainId', body.destinationBlockchainId),
        },
        request.context.signal,
        request.context.client,
      );
      return reply.send(presentReport(message, report, presentBasis(report)));
    },
  );

  server.post(
    `${PATH}/decode`,
    {
      config: { access: LOOKUP_ACCESS },
      bodyLimit: BODY_LIMIT,
      schema: {
        operationId: 'decodeMessage',
        tags,
        summary: 'Read a Warp message, signed or not, a payload or a justification',
        description: 'No validator or node is asked, so it works while the network is unreachable.',
        params: Type.Object({ network }),
        body: DecodeBody,
        response: { 200: DecodeResult, ...plainErrorResponses(400, 404, 500), ...bodyErrorResponses(503) },
      },
      onRequest,
      preValidation: refuseQuery,
      serializerCompiler: PLAIN_SERIALIZER,
    },
    async ({ body }, reply) => reply.send(parseData(body)),
  );
}

/** @throws {HttpError} */
function parseData({ data, as }: Static<typeof DecodeBody>): DecodeResult {
  const bytes = parseField('data', data, () => parseHex(data, 'data'));
  if (bytes.length === 0) throw badRequest('data is empty: give a message, a payload or a justification in hex');
  const { logMessage, readings, failed } = readData(bytes, as);
  if (readings.length > 0) return presentData(logMessage, readings);
  if (as !== undefined) throw badRequest(`data cannot be read as ${as}: ${failed[0]?.reason}`);
  throw badRequest(
    `data fits no known form: ${failed.map(({ as: form, reason }) => `as ${form}, ${reason}`).join('; ')}`,
  );
}

function parseSigned(text: string): SignedMessage {
  const bytes = parseField('signedMessage', text, () => parseHex(text, 'signedMessage'));
  if (bytes.length === 0) throw badRequest('signedMessage is empty: give the signed message in hex');
  return parseField('signedMessage', text, () => parseOnlySigned(bytes, 'signedMessage'));
}
