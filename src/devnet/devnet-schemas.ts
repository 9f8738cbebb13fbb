import { type Static, type TProperties, Type } from 'typebox';
import { AggregationBody } from '../api/aggregation/parse-aggregation-request.ts';
import { oneOf, optionalText, text } from '../lib/encoding/schema.ts';
import type { BlockchainID, NodeID, SubnetID, TxID, ValidationID } from '../warp/ids.ts';

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

/** Larger numbers lose digits in JSON. */
const amount = (description?: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...(description !== undefined && { description }) });

const L1ValidatorBody = {
  nodeId: text(),
  weight: amount(),
  blsPublicKey: Type.Optional(
    Type.String({
      pattern: '^(0x)?[0-9a-fA-F]{96}$',
      description: 'Left out, it is the key of the node of the devnet with this NodeID',
    }),
  ),
};

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
    subnetId: optionalText("The L1 whose validator manager sends register or setWeight; left out, the devnet's own"),
    register: Type.Optional(
      Type.Object(
        {
          ...L1ValidatorBody,
          expiry: Type.Optional(amount('In Unix seconds; half a day from now by default')),
        },
        { additionalProperties: false, description: 'Sends a RegisterL1Validator message' },
      ),
    ),
    setWeight: Type.Optional(
      Type.Object(
        {
          validationId: text(),
          weight: amount('0 removes the validator'),
          nonce: Type.Optional(amount('The next one by default')),
        },
        { additionalProperties: false, description: 'Sends an L1ValidatorWeight message' },
      ),
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
        validationId: optionalText('Of the validator that register or setWeight is about'),
      }),
      {
        description: 'Unsigned messages in hex, in accepted blocks; validators sign them once the block is executed',
      },
    ),
  },
  { description: 'As many as asked for' },
);

/** Validators of one conversion. */
const MAX_CONVERSION_VALIDATORS = 100;

const transaction = <const Name extends string, const Fields extends TProperties>(name: Name, fields: Fields) =>
  Type.Object({ type: Type.Literal(name), ...fields }, { additionalProperties: false, title: name });
const SignedMessage = Type.String({
  pattern: '^(0x)?([0-9a-fA-F]{2})*$',
  maxLength: 2 + 2 * MAX_PAYLOAD_DIGITS,
  description: "The signed message of the L1's validator manager",
});
const Balance = amount('In nAVAX');

const TRANSACTIONS = [
  transaction('BaseTx', {}),
  transaction('ConvertSubnetToL1Tx', {
    validators: Type.Array(Type.Object(L1ValidatorBody, { additionalProperties: false }), {
      maxItems: MAX_CONVERSION_VALIDATORS,
    }),
    subnetId: optionalText('Left out, a new subnet is converted'),
    managerChain: Type.Optional(
      oneOf(['C', 'L1'], "The chain of the validator manager: C by default, or that of the devnet's L1"),
    ),
    managerAddress: Type.Optional(
      Type.String({
        pattern: '^(0x)?[0-9a-fA-F]{40}$',
        description: 'The validator manager; left out, the account of its chain',
      }),
    ),
  }),
  transaction('RegisterL1ValidatorTx', {
    message: SignedMessage,
    balance: Type.Optional(amount('In nAVAX; 1 AVAX by default')),
  }),
  transaction('SetL1ValidatorWeightTx', { message: SignedMessage }),
  transaction('IncreaseL1ValidatorBalanceTx', { validationId: text(), balance: Balance }),
  transaction('DisableL1ValidatorTx', { validationId: text() }),
] as const;

export type IssueBody = Static<(typeof TRANSACTIONS)[number]>;

/** With a discriminator, so that an error is about the fields of the named transaction. */
export const IssueSchema = Type.Unsafe<IssueBody>({
  type: 'object',
  discriminator: { propertyName: 'type' },
  oneOf: TRANSACTIONS,
  examples: [{ type: 'BaseTx' }],
});

export const IssuedSchema = Type.Object(
  {
    txHash: Type.Unsafe<TxID>(text('ID of the transaction, in cb58')),
    height: Type.Integer({ description: 'P-Chain height of the block that accepts it' }),
    acceptedInMs: Type.Integer({ description: 'Time until that block; the transaction is processing until then' }),
    subnetId: Type.Optional(Type.Unsafe<SubnetID>(text('The converted subnet'))),
    validators: Type.Optional(
      Type.Array(Type.Object({ nodeId: id<NodeID>(), validationId: id<ValidationID>() }), {
        description: 'The validators that a conversion or registration adds',
      }),
    ),
  },
  { description: 'The transaction that was issued' },
);
