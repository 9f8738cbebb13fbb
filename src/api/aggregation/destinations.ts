import { type Static, Type } from 'typebox';
import { destinationWarnings } from '../../aggregation/signers/delivery-warnings.ts';
import { type DestinationView, SOURCE_KINDS } from '../../aggregation/signers/destination-views.ts';
import { RULE_MEANINGS, SIGNING_RULES } from '../../aggregation/signers/signing-rule.ts';
import { parseID } from '../../http/parameters/parse-fields.ts';
import { refuseQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { VIEW_ACCESS } from '../../http/request/route-access.ts';
import { inJson, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { WARP_PRECOMPILE } from '../../pchain/codec/send-warp-log.ts';
import { type BlockchainID, P_CHAIN_ID } from '../../warp/ids.ts';
import { CHAIN_ALIASES } from '../../warp/networks.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';
import { DELIVERY_FIELDS, presentAdvice } from './delivery-records.ts';

const RULES = SIGNING_RULES.filter((rule) => rule !== 'named');

const DestinationSigners = Type.Object(
  {
    sources: oneOf(SOURCE_KINDS, 'The chains whose messages these validators must sign'),
    signingRule: Type.Optional(oneOf(RULES, RULES.map((rule) => `\`${rule}\`: ${RULE_MEANINGS[rule]}`).join('; '))),
    signingSubnetId: optionalText('In cb58; missing if it differs from source to source, or cannot be determined'),
    isProposedSetDifferent: Type.Optional(
      Type.Boolean({
        description:
          'Whether the validators at the proposed height differ from those at the height of the epoch; missing if that cannot be said',
      }),
    ),
  },
  { title: 'DestinationSigners' },
);

const DestinationBody = Type.Object(
  {
    blockchainId: text('In cb58'),
    subnetId: text('The subnet that validates it, in cb58'),
    quorumPercentage: integer('Least percentage of the weight that must have signed'),
    requirePrimaryNetworkSigners: Type.Optional(
      Type.Boolean({ description: 'Of its warp config; missing if it cannot be read' }),
    ),
    signers: Type.Array(DestinationSigners),
    proposedPChainHeight: integer('The height at which messages without a destination are signed'),
    ...DELIVERY_FIELDS,
    delivery: Type.Object(
      {
        form: oneOf(
          ['access_list', 'p_chain_transaction', 'none'],
          'How the chain takes a signed message: in the access list of a transaction, in a transaction of the P-Chain, or not at all',
        ),
        precompileAddress: optionalText('The address in the access list'),
        needs: Type.Array(text(), { description: 'What a delivery needs, in words' }),
      },
      { title: 'Delivery', description: 'What a delivery needs' },
    ),
  },
  { title: 'Destination', description: 'How a blockchain verifies messages' },
);
export type DestinationBody = Static<typeof DestinationBody>;

export function registerDestinations(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.get(
    '/v1/signatureAggregator/:network/destinations/:blockchainId',
    {
      config: { access: VIEW_ACCESS },
      schema: {
        operationId: 'getDestination',
        tags: ['Signature aggregation'],
        summary:
          'How a blockchain verifies messages: whose signatures, with which quorum, at which height, and what a delivery needs',
        description: 'Asks no validator. The configuration of the chain is read from its configured RPC.',
        params: Type.Object({ network, blockchainId: text('In cb58 or hex') }),
        response: { 200: DestinationBody, ...aggregationErrorResponses(400, 404, 500, 502, 503) },
      },
      onRequest,
      preValidation: refuseQuery,
    },
    async (request, reply) => {
      const chainID = parseID<BlockchainID>('blockchainId', request.params.blockchainId);
      const view = await networkOf(request).destinations.view(chainID, request.context.signal, request.context.client);
      return reply.send(presentDestination(view));
    },
  );
}

function presentDestination(view: DestinationView): DestinationBody {
  const { facts, quorumNum, epoch, proposedHeight, signers } = view;
  const { chainID, subnetID, warp } = facts;
  return inJson({
    blockchainId: chainID,
    subnetId: subnetID,
    quorumPercentage: Number(quorumNum),
    requirePrimaryNetworkSigners: warp.kind === 'read' ? warp.config.requirePrimaryNetworkSigners : undefined,
    signers: signers.map(({ sources, rule, signingSubnetID, differs }) =>
      inJson({
        sources,
        signingRule: rule,
        signingSubnetId: signingSubnetID,
        isProposedSetDifferent: differs,
      }),
    ),
    proposedPChainHeight: Number(proposedHeight),
    ...presentAdvice({ epoch, warnings: destinationWarnings(facts, view.isEpochReadable) }),
    delivery: describeDelivery(view),
  });
}

function describeDelivery({ facts, quorumNum, epoch, proposedHeight, signers }: DestinationView) {
  const { chainID } = facts;
  const height =
    epoch === undefined ? `the proposed P-Chain height, now ${proposedHeight}` : `P-Chain height ${epoch.pChainHeight}`;
  const quorum = `signatures of ${quorumNum} % of the weight of the signing subnet at ${height}: name this chain as destinationBlockchainId`;
  const nextEpoch =
    'for validators that joined since the epoch began: two blocks of this chain, the first of them after the minimum time of the epoch';
  const needs = [quorum, ...(signers.some(({ differs }) => differs === true) ? [nextEpoch] : [])];
  if (CHAIN_ALIASES.get(chainID) === 'X') return { form: 'none' as const, needs: ['the X-Chain verifies no messages'] };
  if (chainID === P_CHAIN_ID) {
    const transaction = 'a transaction that takes the message: RegisterL1ValidatorTx or SetL1ValidatorWeightTx';
    return { form: 'p_chain_transaction' as const, needs: [...needs, transaction] };
  }
  const words =
    'a transaction whose access list has the precompile with the signed message as storage keys: its bytes, one byte 0xff, and zeros up to a ' +
    'multiple of 32, in words of 32 bytes';
  return { form: 'access_list' as const, precompileAddress: WARP_PRECOMPILE, needs: [...needs, words] };
}
