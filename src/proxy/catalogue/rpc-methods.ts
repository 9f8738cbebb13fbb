import { type TSchema, Type } from 'typebox';
import { text } from '../../lib/encoding/schema.ts';

/** Parameters and result of a JSON-RPC method of the node, for the OpenAPI document. */
export interface RpcMethod {
  readonly params: TSchema;
  readonly result: TSchema;
  readonly deprecatedSince?: string;
}

const id = (description: string): TSchema => text(`${description}, in cb58`);
/** Nodes encode quantities as decimal strings. */
const amount = (description?: string): TSchema =>
  Type.String({ pattern: '^\\d+$', ...(description !== undefined && { description }) });
const list = (items: TSchema, description?: string): TSchema =>
  Type.Array(items, description === undefined ? {} : { description });
const object = (properties: Record<string, TSchema>): TSchema => Type.Object(properties);
const optional = (schema: TSchema): TSchema => Type.Optional(schema);
const optionals = (properties: Record<string, TSchema>): Record<string, TSchema> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)]));

const none = object({});
const unsigned = (description: string): TSchema =>
  Type.Union([Type.Integer({ minimum: 0 }), amount()], { description });
const height = object({ height: amount('Height of a block') });
const subnetID = id('ID of a subnet');
const encoding = Type.Enum(['hex', 'json'], { type: 'string', default: 'hex' });
const encoded = (name: string): TSchema =>
  object({
    [name]: Type.Union([Type.String(), Type.Object({})], {
      description: 'With the encoding hex the bytes and 4 bytes of checksum, with json the fields',
    }),
    encoding: text(),
  });
const status = (...values: string[]): TSchema => Type.Enum(values, { type: 'string' });
const utxoIDs = list(object({ txID: text(), outputIndex: Type.Integer() }));
const amounts = Type.Record(Type.String(), amount(), { description: 'By the ID of the asset' });
const place = object({ address: text(), utxo: text() });
const owner = object({ locktime: amount(), threshold: amount(), addresses: list(text()) });
const signer = object({ publicKey: text(), proofOfPossession: optional(text()) });
const delegator = object({
  txID: text(),
  startTime: amount(),
  endTime: amount(),
  weight: amount(),
  nodeID: text(),
  ...optionals({ rewardOwner: owner, potentialReward: amount() }),
});
const l1Validator = {
  validationID: text(),
  publicKey: text(),
  minNonce: amount(),
  balance: amount(),
  remainingBalanceOwner: owner,
  deactivationOwner: owner,
};
/** The optional fields depend on whether it validates an L1, a permissioned subnet or the primary network. */
const validator = object({
  nodeID: text(),
  weight: amount(),
  startTime: amount(),
  ...optionals({
    txID: text(),
    endTime: amount(),
    potentialReward: amount(),
    delegationFee: text(),
    uptime: text(),
    connected: Type.Boolean(),
    signer,
    validationRewardOwner: owner,
    delegationRewardOwner: owner,
    delegatorCount: amount(),
    delegatorWeight: amount(),
    delegators: list(delegator),
    accruedDelegateeReward: amount(),
    ...l1Validator,
  }),
});

/** Methods of the specification of the node's API, completed by answers of avalanchego v1.14.2. */
export const RPC_METHODS: Readonly<Record<string, RpcMethod>> = {
  'avm.getAllBalances': {
    params: object({ address: text() }),
    result: object({ balances: list(object({ asset: text(), balance: amount() })) }),
    deprecatedSince: 'v1.9.12',
  },
  'avm.getAssetDescription': {
    params: object({ assetID: text('ID or alias') }),
    result: object({ assetID: text(), name: text(), symbol: text(), denomination: amount('Digits after the point') }),
  },
  'avm.getBalance': {
    params: object({ address: text(), assetID: text('ID or alias') }),
    result: object({ balance: amount(), utxoIDs }),
    deprecatedSince: 'v1.9.12',
  },
  'avm.getBlock': { params: object({ blockID: id('ID'), encoding: optional(encoding) }), result: encoded('block') },
  'avm.getBlockByHeight': {
    params: object({ height: unsigned('Height of the block'), encoding: optional(encoding) }),
    result: encoded('block'),
  },
  'avm.getHeight': { params: none, result: height },
  'avm.getTx': { params: object({ txID: id('ID'), encoding: optional(encoding) }), result: encoded('tx') },
  'avm.getTxFee': { params: none, result: object({ txFee: amount(), createAssetTxFee: amount() }) },
  'avm.getTxStatus': {
    params: object({ txID: id('ID') }),
    result: object({ status: status('Accepted', 'Processing', 'Rejected', 'Unknown') }),
    deprecatedSince: 'v1.10.0',
  },
  'avm.getUTXOs': {
    params: object({
      addresses: list(text(), 'Each UTXO of the answer references one of them'),
      ...optionals({
        limit: unsigned('1,024 where it is left out or higher'),
        startIndex: Type.Object(
          { address: Type.String(), utxo: Type.String() },
          { description: 'The endIndex of the page before' },
        ),
        sourceChain: text('Chain from which the UTXOs were exported'),
        encoding: Type.Enum(['hex'], { type: 'string', default: 'hex' }),
      }),
    }),
    result: object({
      numFetched: amount(),
      utxos: list(text()),
      endIndex: place,
      encoding: text(),
      sourceChain: optional(text()),
    }),
  },
  'platform.getBalance': {
    params: object({ addresses: list(text()) }),
    result: object({
      balances: amounts,
      unlockeds: amounts,
      lockedStakeables: amounts,
      lockedNotStakeables: amounts,
      utxoIDs,
      ...optionals({ balance: amount(), unlocked: amount(), lockedStakeable: amount(), lockedNotStakeable: amount() }),
    }),
    deprecatedSince: 'v1.9.12',
  },
  'platform.getBlock': {
    params: object({ blockID: id('ID'), encoding: optional(encoding) }),
    result: encoded('block'),
  },
  'platform.getBlockByHeight': {
    params: object({ height: unsigned('Height of the block'), encoding: optional(encoding) }),
    result: encoded('block'),
  },
  'platform.getBlockchains': {
    params: none,
    result: object({ blockchains: list(object({ id: text(), name: text(), subnetID: text(), vmID: text() })) }),
    deprecatedSince: 'v1.9.12',
  },
  'platform.getBlockchainStatus': {
    params: object({ blockchainID: id('ID of a blockchain') }),
    result: object({ status: status('Validating', 'Created', 'Preferred', 'Syncing', 'Unknown') }),
  },
  'platform.getCurrentSupply': {
    params: object({ subnetID: optional(subnetID) }),
    result: object({
      supply: amount('Upper bound of the tokens that can stake; burnt ones are in it'),
      height: optional(amount()),
    }),
  },
  'platform.getCurrentValidators': {
    params: object(
      optionals({
        subnetID: id('ID of a subnet; the primary network where it is left out'),
        nodeIDs: list(text(), 'All where they are left out; NodeIDs of others are left out of the answer'),
      }),
    ),
    result: object({ validators: list(validator) }),
  },
  'platform.getHeight': { params: none, result: height },
  'platform.getL1Validator': {
    params: object({ validationID: id('ID of the validation') }),
    result: object({
      subnetID: text(),
      nodeID: text(),
      weight: amount(),
      startTime: amount(),
      height: amount(),
      ...l1Validator,
    }),
  },
  'platform.getProposedHeight': { params: none, result: height },
  'platform.getSubnet': {
    params: object({ subnetID }),
    result: object({
      isPermissioned: Type.Boolean(),
      controlKeys: list(text()),
      threshold: amount(),
      locktime: amount(),
      subnetTransformationTxID: text(),
      conversionID: text(),
      managerChainID: text(),
      managerAddress: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  'platform.getTx': { params: object({ txID: id('ID'), encoding: optional(encoding) }), result: encoded('tx') },
  'platform.getTxStatus': {
    params: object({ txID: id('ID') }),
    result: object({
      status: status('Committed', 'Aborted', 'Processing', 'Dropped', 'Unknown'),
      reason: optional(text('Why the transaction was dropped')),
    }),
  },
  'platform.getValidatorFeeState': {
    params: none,
    result: object({
      excess: Type.Integer({ description: 'Gas above the target' }),
      price: Type.Integer({ description: 'Of an L1 validator, in nAVAX a second' }),
      timestamp: text(),
    }),
  },
  'platform.getValidatorsAt': {
    params: object({
      height: Type.Union([Type.Integer({ minimum: 0 }), amount(), Type.Literal('proposed')]),
      subnetID: optional(subnetID),
    }),
    result: Type.Record(
      Type.String({ pattern: '^NodeID-' }),
      object({ publicKey: Type.Union([Type.String(), Type.Null()]), weight: amount() }),
      { description: 'By NodeID', additionalProperties: false },
    ),
  },
  'platform.validatedBy': {
    params: object({ blockchainID: id('ID of a blockchain') }),
    result: object({ subnetID: text() }),
  },
};
