import { type Static, type TSchema, Type } from 'typebox';
import {
  type SignableMessage,
  UNCERTAIN_FIELDS,
  type UncertainField,
  VALIDATION_STATES,
  type ValidationView,
} from '../../aggregation/subnets/validation-view.ts';
import type { ValidationRequest } from '../../aggregation/subnets/validation-views.ts';
import { badRequest } from '../../http/errors/http-error.ts';
import { parseField, parseID } from '../../http/parameters/parse-fields.ts';
import { checkQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { VIEW_ACCESS } from '../../http/request/route-access.ts';
import { bytesToHex, parseHex } from '../../lib/encoding/bytes.ts';
import { Decimal, inJson, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import type { BlockchainID, ValidationID } from '../../warp/ids.ts';
import { expiryTime } from '../../warp/l1-message.ts';
import { parseTransactionRequest } from '../aggregation/parse-aggregation-request.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const InitiatedMessage = Type.Object(
  {
    kind: oneOf(['RegisterL1Validator', 'L1ValidatorWeight']),
    messageId: text('In cb58'),
    blockchainId: text('The chain of the manager, in cb58'),
    txHash: text('With 0x'),
    weight: Decimal,
    nonce: Type.Optional(Decimal),
    expiry: Type.Optional(integer('Unix time in seconds, from which on the P-Chain refuses the registration')),
    expiryTime: optionalText('The same as a date'),
  },
  { title: 'InitiatedMessage', description: 'What the validator manager asks of the P-Chain' },
);

const SignableRecord = Type.Object(
  {
    kind: oneOf(['RegisterL1Validator', 'L1ValidatorRegistration', 'L1ValidatorWeight']),
    to: oneOf(['p_chain', 'manager'], 'Who verifies it'),
    request: Type.Object(
      {
        method: oneOf(['GET', 'POST']),
        path: text(),
        body: Type.Optional(
          Type.Object(
            {
              message: optionalText('In hex'),
              justification: optionalText('In hex'),
              destinationBlockchainId: optionalText('In cb58'),
            },
            { title: 'SigningBody' },
          ),
        ),
      },
      { title: 'SigningRequest', description: 'The request that signs it' },
    ),
  },
  { title: 'SignableMessage', description: 'A message about the validation that can be signed now' },
);

const STATE_WORDS =
  '`initiated`: the manager sent the registration, which the P-Chain may still accept; `active` and `inactive`: a validator, with and ' +
  'without a balance; `removed`: it was one; `expired`: the registration did not reach the P-Chain in time, as far as is known; `unknown`: nothing is known';

export const ValidationBody = Type.Object(
  {
    validationId: text('In cb58'),
    state: oneOf(VALIDATION_STATES, STATE_WORDS),
    subnetId: orNull(text('The L1, in cb58')),
    nodeId: orNull(text()),
    managerBlockchainId: optionalText('The chain of the validator manager, in cb58'),
    registered: orNull(Type.Boolean({ description: 'Whether the P-Chain has accepted it' })),
    removed: orNull(Type.Boolean({ description: 'Whether it was registered, and is no validator any more' })),
    weight: orNull(Decimal),
    minNonce: orNull(text('Least nonce of the next L1ValidatorWeight message')),
    balance: orNull(text('In nAVAX')),
    expired: orNull(Type.Boolean({ description: 'Whether the time for the registration is over' })),
    registrableUntil: orNull(integer('Unix time in seconds until which the P-Chain accepts the registration')),
    initiated: orNull(
      Type.Array(InitiatedMessage, { description: 'Messages of the manager about it, the oldest first' }),
    ),
    reasons: Type.Array(Type.Object({ field: oneOf(UNCERTAIN_FIELDS), reason: text() }, { title: 'UnknownField' }), {
      description: 'Why fields are null',
    }),
    signable: Type.Array(SignableRecord),
    next: text('What comes next, for people'),
  },
  { title: 'Validation', description: 'What the P-Chain, its blocks and the feed know of an L1 validation' },
);
export type ValidationBody = Static<typeof ValidationBody>;

const ValidationQuery = Type.Object(
  {
    txHash: optionalText(
      'Hash of the EVM transaction by which the manager initiated the registration or a change, 0x and 64 hex digits',
    ),
    blockchainId: optionalText(
      'The chain of that transaction: its ID in hex or cb58, or C. Without it, it is searched',
    ),
    logIndex: optionalText('The logIndex of the message in the receipt, if the transaction sent several'),
    justification: optionalText(
      'The registration in hex, if the service cannot know it: a RegisterL1Validator payload, or the message or justification around it',
    ),
  },
  { additionalProperties: false },
);

export function registerValidations(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.get(
    '/v1/signatureAggregator/:network/validations/:validationId',
    {
      config: { access: VIEW_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'getValidation',
        tags: ['Signature aggregation'],
        summary: 'What is known of an L1 validation, which of its messages can be signed now, and what comes next',
        description:
          'Asks no validator. What is not known is null, with a reason. What the validator manager initiated is known from the feed, if it ' +
          "watches the manager's chain, or from a transaction that you name.",
        params: Type.Object({ network, validationId: text('ID of the validation of an L1 validator, in cb58 or hex') }),
        querystring: ValidationQuery,
        response: { 200: ValidationBody, ...aggregationErrorResponses(400, 404, 500, 502, 503) },
      },
      onRequest,
      serializerCompiler: PLAIN_SERIALIZER,
    },
    async (request, reply) => {
      const { name, validations } = networkOf(request);
      const asked = parseRequest(request.params.validationId, request.query);
      const view = await validations.view(asked, request.context.signal, request.context.client);
      return reply.send(presentValidation(view, name));
    },
  );
}

/** @throws {HttpError} naming the parameter */
function parseRequest(
  validationId: string,
  { txHash, justification: given, ...where }: Static<typeof ValidationQuery>,
): ValidationRequest {
  const validationID = parseID<ValidationID>('validationId', validationId);
  const justification =
    given === undefined ? undefined : parseField('justification', given, () => parseHex(given, 'justification'));
  if (txHash === undefined) {
    const name = Object.keys(where)[0];
    if (name !== undefined) throw badRequest(`${name} is for txHash, which is missing`);
    return { validationID, justification };
  }
  const { subject } = parseTransactionRequest(txHash, where);
  if (subject.kind !== 'transaction' || subject.evm === undefined) {
    throw badRequest('txHash must be the hash of an EVM transaction: 0x and 64 hex digits');
  }
  return { validationID, justification, transaction: { txID: subject.txID, txHash, evm: subject.evm } };
}

/** @param network the name in the paths of requests */
function presentValidation(view: ValidationView, network: string): ValidationBody {
  const { initiated } = view;
  const facts = {
    subnetId: orNothing(view.subnetID),
    nodeId: orNothing(view.nodeID),
    registered: orNothing(view.registered),
    removed: orNothing(view.removed),
    weight: decimal(view.weight),
    minNonce: decimal(view.minNonce),
    balance: decimal(view.balance),
    expired: orNothing(view.expired),
    registrableUntil: view.registrableUntil === undefined ? null : Number(view.registrableUntil),
    initiated: initiated === undefined ? null : initiated.map(presentInitiated),
  } satisfies Record<UncertainField, unknown>;
  return inJson({
    validationId: view.validationID,
    state: view.state,
    managerBlockchainId: view.managerChainID,
    ...facts,
    reasons: UNCERTAIN_FIELDS.filter((field) => facts[field] === null).map((field) => ({
      field,
      reason: view.reasons[field] ?? 'it is not known',
    })),
    signable: view.signable.map((message) => presentSignable(message, network, view.managerChainID)),
    next: view.next,
  });
}

function presentInitiated({ content, message, txHash }: NonNullable<ValidationView['initiated']>[number]) {
  const isRegistration = content.kind === 'RegisterL1Validator';
  return inJson({
    kind: content.kind,
    messageId: message.id,
    blockchainId: message.sourceChainID,
    txHash,
    weight: String(content.weight),
    nonce: isRegistration ? undefined : String(content.nonce),
    expiry: isRegistration ? Number(content.expiry) : undefined,
    expiryTime: isRegistration ? expiryTime(content) : undefined,
  });
}

function presentSignable({ content, to, by }: SignableMessage, network: string, manager: BlockchainID | undefined) {
  return { kind: content, to, request: requestOf(by, network, manager) };
}

function requestOf(by: SignableMessage['by'], network: string, manager: BlockchainID | undefined) {
  const path = `/v1/signatureAggregator/${encodeURIComponent(network)}/aggregateSignatures`;
  if (by.kind === 'transaction') {
    const { txHash, chainID, logIndex } = by;
    const query = new URLSearchParams({
      blockchainId: chainID,
      ...(logIndex !== undefined && { logIndex: String(logIndex) }),
    });
    return { method: 'GET' as const, path: `${path}/${txHash}?${query.toString()}` };
  }
  const body = inJson({
    message: by.kind === 'message' ? bytesToHex(by.message.bytes) : undefined,
    justification: by.kind === 'justification' ? bytesToHex(by.justification) : undefined,
    destinationBlockchainId: manager,
  });
  return { method: 'POST' as const, path, body };
}

function orNothing<T>(value: T | undefined): T | null {
  return value ?? null;
}

function decimal(value: bigint | undefined): string | null {
  return value === undefined ? null : String(value);
}
