import { type Static, Type } from 'typebox';
import { AggregationBody } from '../api/aggregation/parse-aggregation-request.ts';
import { oneOf, text } from '../lib/encoding/schema.ts';
import type { BlockchainID, NodeID, SubnetID, TxID } from '../warp/ids.ts';

const HexString = Type.String({ pattern: '^(0x)?([0-9a-f]{2})*$' });
const id = <ID extends string>() => Type.Unsafe<ID>(text());

/** A request to the aggregator that succeeds while all validators behave correctly. */
export type Example = Static<typeof ExampleSchema>;

export const ExampleSchema = Type.Object({
  name: Type.String(),
  method: oneOf(['GET', 'POST']),
  path: Type.String(),
  /** Body of a POST, with a message, a justification, or both. */
  body: Type.Optional(AggregationBody),
});

export type DevnetNetwork = Static<typeof NetworkSchema>;

export const NetworkSchema = Type.Object(
  {
    apiUrl: Type.String(),
    networkID: Type.Integer(),
    subnets: Type.Object({
      primary: Type.Object({
        subnetID: id<SubnetID>(),
        pChainID: id<BlockchainID>(),
        xChainID: id<BlockchainID>(),
        cChainID: id<BlockchainID>(),
      }),
      l1: Type.Object({
        subnetID: id<SubnetID>(),
        blockchainID: id<BlockchainID>(),
        strictBlockchainID: Type.Unsafe<BlockchainID>(
          text('A second chain of its subnet, whose warp config has requirePrimaryNetworkSigners and a quorum of 80 %'),
        ),
        managerAddress: HexString,
        olderHeight: Type.Integer({ description: "A P-Chain height at which the L1's validators were others" }),
      }),
    }),
    /** All nodes that run: the primary validators, then those of the L1 alone. */
    nodeIDs: Type.Array(id<NodeID>()),
    transactions: Type.Object(
      {
        balanceIncrease: id<TxID>(),
        disabling: id<TxID>(),
        /** A weight that was changed again since. */
        overtakenWeightChange: id<TxID>(),
        /** The registration of a validator that was removed since. */
        usedUpRegistration: id<TxID>(),
        /** Not accepted as long as the network runs. */
        processing: id<TxID>(),
        ofXChain: id<TxID>(),
      },
      { description: 'IDs of transactions without a message to sign, for a reason each' },
    ),
  },
  { description: 'The devnet' },
);

/** Messages of one call: 10,000 of them are 5 MB of JSON. */
const MAX_MESSAGES = 10_000;
/** The most that the Warp precompile sends (24 KiB). */
const MAX_PAYLOAD_DIGITS = 2 * 24 * 1024;

export type EmitBody = Static<typeof EmitSchema>;

export const EmitSchema = Type.Object(
  {
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_MESSAGES,
        default: 1,
        description: 'How many, each in its own transaction',
      }),
    ),
    chain: Type.Optional(
      Type.Enum(['C', 'L1'], { type: 'string', default: 'C', description: 'The chain that emits them' }),
    ),
    payload: Type.Optional(
      Type.String({
        pattern: '^(0x)?([0-9a-fA-F]{2})*$',
        maxLength: 2 + MAX_PAYLOAD_DIGITS,
        description: 'Payload of the addressed call, in hex; left out, each message has another text',
      }),
    ),
    sender: Type.Optional(
      Type.String({
        pattern: '^(0x)?[0-9a-fA-F]{40}$',
        description: "Account that emits them; left out, it is the C-Chain's account or the L1's validator manager",
      }),
    ),
  },
  { additionalProperties: false, examples: [{ count: 1 }, { chain: 'C', payload: '0x68656c6c6f' }] },
);

export const MessagesSchema = Type.Object(
  {
    messages: Type.Array(
      Type.Object({
        messageId: Type.String(),
        message: HexString,
        txHash: HexString,
        transactionHash: Type.String({ description: 'The same as txHash, its earlier name' }),
        block: Type.Object({ number: Type.Integer(), hash: HexString }),
      }),
      {
        description: 'Unsigned messages in hex, in accepted blocks; validators sign them once the block is executed',
      },
    ),
  },
  { description: 'As many as asked for' },
);
