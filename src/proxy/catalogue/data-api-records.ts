import { type TProperties, type TSchema, Type } from 'typebox';
import { among, TRANSACTION_TYPES } from './data-api-parameters.ts';

/** Answers of the upstream services, for the OpenAPI document. Answers are not checked, so that new fields reach clients at once. */

const text = Type.String();
const integer = Type.Integer();
const flag = Type.Boolean();
const amount = Type.String({ description: 'A decimal integer' });
const timestamp = Type.Integer({ description: 'Unix time' });
const texts = Type.Array(text);
/** A text of an open set, of which the specification names these values. */
const oneAmong = (...values: string[]) => Type.String({ description: among(...values) });
/** No enum: an answer is not checked, and a client that checks it would fail at a new value. */
const oneOf = (...values: string[]) =>
  Type.String({ description: `One of ${values.map((value) => `\`${value}\``).join(', ')}` });

function record(title: string, properties: TProperties) {
  return Type.Partial(Type.Object(properties), { title });
}

/** A record with the field that distinguishes NFT tokens. */
function token(title: string, ercType: string, properties: TProperties) {
  const fields = Type.Partial(Type.Object(properties)).properties;
  return Type.Object({ ercType: Type.Literal(ercType), ...fields }, { title });
}

/** @param names separated by blanks */
function all<Schema extends TSchema>(schema: Schema, names: string): Record<string, Schema> {
  return Object.fromEntries(names.split(' ').map((name) => [name, schema]));
}

function list(title: string, name: string, item: TSchema, more: TProperties = {}) {
  return record(title, {
    nextPageToken: Type.String({ description: 'For the next page; absent on the last one' }),
    [name]: Type.Array(item),
    ...more,
  });
}

const chainInfo = record('ChainInfo', { chainName: text, network: text });
const AddressInfo = record('AddressInfo', {
  name: text,
  symbol: text,
  decimals: integer,
  logoUri: text,
  address: text,
});
const AssetAmount = record('AssetAmount', {
  ...all(text, 'assetId name symbol'),
  denomination: integer,
  type: oneAmong('secp256k1'),
  amount,
});
const BlsCredentials = record('BlsCredentials', { publicKey: text, proofOfPossession: text });

const Utxo = record('Utxo', {
  addresses: texts,
  asset: AssetAmount,
  ...all(text, 'consumedOnChainId consumingTxHash createdOnChainId utxoId utxoBytes amount assetId blockNumber'),
  ...all(text, 'consumingBlockNumber txHash'),
  rewardType: oneAmong('VALIDATOR'),
  utxoType: oneAmong('STAKE'),
  ...all(timestamp, 'blockTimestamp consumingBlockTimestamp utxoEndTimestamp utxoStartTimestamp'),
  ...all(integer, 'platformLocktime outputIndex stakeableLocktime threshold'),
  staked: flag,
});

const AllowList = record('AllowList', {
  blockTimestamp: timestamp,
  ...all(texts, 'adminAddresses managerAddresses enabledAddresses'),
});

const GenesisData = record('GenesisData', {
  ...all(Type.Unsafe<string | null>({ type: ['string', 'null'] }), 'airdropAmount baseFeePerGas blobGasUsed'),
  excessBlobGas: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  alloc: Type.Record(text, record('GenesisAccount', { balance: text, code: text, storage: Type.Record(text, text) })),
  ...all(text, 'airdropHash coinbase difficulty extraData gasLimit gasUsed mixHash nonce number parentHash'),
  ...all(text, 'timestamp'),
  config: record('GenesisConfig', {
    ...all(integer, 'berlinBlock byzantiumBlock chainId constantinopleBlock eip150Block eip155Block eip158Block'),
    ...all(integer, 'homesteadBlock istanbulBlock londonBlock muirGlacierBlock petersburgBlock subnetEVMTimestamp'),
    eip150Hash: text,
    allowFeeRecipients: flag,
    feeConfig: record('FeeConfig', {
      ...all(integer, 'baseFeeChangeDenominator blockGasCostStep gasLimit maxBlockGasCost minBaseFee'),
      ...all(integer, 'minBlockGasCost targetBlockRate targetGas'),
    }),
    warpConfig: record('WarpConfig', {
      blockTimestamp: timestamp,
      quorumNumerator: integer,
      requirePrimaryNetworkSigners: flag,
    }),
    ...all(AllowList, 'txAllowListConfig contractDeployerAllowListConfig contractNativeMinterConfig'),
    ...all(AllowList, 'feeManagerConfig rewardManagerConfig'),
  }),
});

export const PrimaryNetworkTransaction = record('PrimaryNetworkTransaction', {
  ...all(text, 'txHash blockNumber blockHash sourceChain destinationChain'),
  txType: Type.String({ description: TRANSACTION_TYPES }),
  ...all(timestamp, 'blockTimestamp startTimestamp endTimestamp'),
  ...all(Type.Array(Utxo), 'consumedUtxos emittedUtxos'),
  ...all(Type.Array(AssetAmount), 'value amountBurned amountStaked amountL1ValidatorBalanceBurned'),
  ...all(text, 'delegationFeePercent nodeId subnetId estimatedReward rewardTxHash memo stakingTxHash'),
  l1ValidatorManagerDetails: record('L1ValidatorManager', { blockchainId: text, contractAddress: text }),
  l1ValidatorDetails: Type.Array(
    record('L1ValidatorDetails', {
      ...all(text, 'validationId validationIdHex nodeId subnetId'),
      ...all(integer, 'weight remainingBalance balanceChange'),
      blsCredentials: Type.Object({}),
    }),
  ),
  rewardAddresses: texts,
  subnetOwnershipInfo: record('SubnetOwner', { locktime: integer, threshold: integer, addresses: texts }),
  blsCredentials: BlsCredentials,
  blockchainInfo: record('CreatedBlockchain', { chainName: text, vmId: text, genesisData: GenesisData }),
});

const Blockchain = record('Blockchain', {
  createBlockTimestamp: timestamp,
  ...all(text, 'createBlockNumber blockchainId vmId subnetId blockchainName'),
  evmChainId: integer,
  genesisData: GenesisData,
});

const Validator = record('Validator', {
  ...all(text, 'txHash nodeId subnetId amountStaked delegationFee'),
  ...all(timestamp, 'startTimestamp endTimestamp'),
  blsCredentials: BlsCredentials,
  delegatorCount: integer,
  amountDelegated: amount,
  rewards: record('ValidatorRewards', {
    ...all(text, 'validationRewardAmount delegationRewardAmount rewardTxHash'),
    rewardAddresses: texts,
  }),
  validationStatus: oneOf('completed', 'active', 'pending', 'removed'),
});

const Delegator = record('Delegator', {
  ...all(text, 'txHash nodeId amountDelegated delegationFee grossReward netReward'),
  delegationStatus: oneOf('completed', 'active', 'pending'),
  rewardAddresses: texts,
  ...all(timestamp, 'startTimestamp endTimestamp'),
});

const Vertex = record('Vertex', {
  vertexHash: text,
  ...all(texts, 'parentHashes transactions'),
  ...all(integer, 'vertexHeight vertexIndex txCount vertexSizeBytes'),
  vertexTimestamp: timestamp,
});

const PrimaryNetworkBlock = record('PrimaryNetworkBlock', {
  ...all(text, 'blockNumber blockHash parentHash blockType currentSupply'),
  blockTimestamp: timestamp,
  ...all(integer, 'txCount blockSizeBytes l1ValidatorsAccruedFees activeL1Validators'),
  transactions: texts,
  proposerDetails: record('BlockProposer', {
    ...all(text, 'proposerId proposerParentId proposerNodeId'),
    ...all(integer, 'proposerPChainHeight proposerTimestamp'),
  }),
});

export const EvmBlock = record('EvmBlock', {
  ...all(text, 'chainId blockNumber blockHash baseFee gasUsed gasLimit gasCost parentHash feesSpent'),
  ...all(text, 'cumulativeTransactions'),
  blockTimestamp: timestamp,
  txCount: integer,
});

const nativeTransaction = {
  ...all(text, 'blockNumber blockHash chainId txHash gasLimit gasUsed gasPrice nonce value'),
  txStatus: oneAmong('1'),
  blockTimestamp: timestamp,
  ...all(integer, 'blockIndex txType'),
  ...all(AddressInfo, 'from to'),
  method: record('EvmMethod', { callType: oneAmong('CONTRACT_CALL'), ...all(text, 'methodHash methodName') }),
};

/** Missing in the transfers of a transaction's details. */
const inBlock = { blockNumber: text, blockHash: text, blockTimestamp: timestamp };
const Price = record('Price', { currencyCode: text, value: text });

const erc20Transfer = {
  txHash: text,
  value: amount,
  logIndex: integer,
  ...all(AddressInfo, 'from to'),
  erc20Token: record('Erc20Token', {
    ...all(text, 'address name symbol logoUri'),
    ercType: oneAmong('ERC-20'),
    decimals: integer,
    price: Price,
  }),
};

const internalTransaction = {
  ...all(text, 'txHash value gasUsed gasLimit'),
  internalTxType: oneAmong('UNKNOWN'),
  ...all(AddressInfo, 'from to'),
  isReverted: flag,
};

const metadata = {
  ...all(text, 'name symbol imageUri description animationUri externalUrl background'),
  indexStatus: oneAmong('indexed'),
  metadataLastUpdatedTimestamp: timestamp,
};
const Erc721Token = token('Erc721Token', 'ERC-721', {
  ...all(text, 'address name symbol tokenId tokenUri ownerAddress'),
  metadata: record('Erc721Metadata', { ...metadata, attributes: text }),
});
const Erc1155Token = token('Erc1155Token', 'ERC-1155', {
  ...all(text, 'address tokenId tokenUri'),
  metadata: record('Erc1155Metadata', { ...metadata, properties: text, decimals: integer }),
});

export const EvmTransactionDetails = record('EvmTransactionDetails', {
  erc20Transfers: Type.Array(record('TransactionErc20Transfer', erc20Transfer)),
  erc721Transfers: Type.Array(
    record('TransactionErc721Transfer', {
      ...all(AddressInfo, 'from to'),
      logIndex: integer,
      erc721Token: Erc721Token,
    }),
  ),
  erc1155Transfers: Type.Array(
    record('TransactionErc1155Transfer', {
      ...all(AddressInfo, 'from to'),
      logIndex: integer,
      value: amount,
      erc1155Token: Erc1155Token,
    }),
  ),
  internalTransactions: Type.Array(record('TransactionInternal', internalTransaction)),
  networkTokenDetails: record('NetworkTokenDetails', {
    networkToken: record('NetworkToken', {
      name: text,
      symbol: text,
      decimals: integer,
      logoUri: text,
      description: text,
    }),
    ...all(Price, 'currentPrice historicalPrice'),
  }),
  nativeTransaction: record('NativeTransactionDetails', {
    ...nativeTransaction,
    ...all(text, 'input baseFeePerGas maxFeePerGas maxPriorityFeePerGas'),
  }),
  teleporterMessageInfo: record('TeleporterMessageInfo', {
    ...all(text, 'teleporterMessageId sourceChainId destinationChainId'),
    direction: oneAmong('SOURCE_TRANSACTION'),
  }),
});

export const PrimaryNetworkTransactions = list(
  'PrimaryNetworkTransactions',
  'transactions',
  PrimaryNetworkTransaction,
  { chainInfo },
);
export const Blockchains = list('Blockchains', 'blockchains', Blockchain);
export const Validators = list('Validators', 'validators', Validator);
export const Delegators = list('Delegators', 'delegators', Delegator);
export const Vertices = list('Vertices', 'vertices', Vertex, { chainInfo });
export const PrimaryNetworkBlocks = list('PrimaryNetworkBlocks', 'blocks', PrimaryNetworkBlock, { chainInfo });
export const AddressChains = record('AddressChains', {
  addresses: Type.Array(record('AddressChain', { address: text, blockchainIds: texts })),
});
export const Erc20Transfers = list(
  'Erc20Transfers',
  'transactions',
  record('Erc20Transfer', { ...inBlock, ...erc20Transfer }),
);
export const TokenTransfers = list(
  'TokenTransfers',
  'transfers',
  record('Erc20Transfer', { ...inBlock, ...erc20Transfer }),
);
export const InternalTransactions = list(
  'InternalTransactions',
  'transactions',
  record('InternalTransaction', { ...inBlock, ...internalTransaction }),
);
export const BlockTransactions = list(
  'BlockTransactions',
  'transactions',
  record('NativeTransaction', nativeTransaction),
);
export const NftTokens = list('NftTokens', 'tokens', Type.Union([Erc721Token, Erc1155Token], { title: 'NftToken' }));

export const AverageTps = record('AverageTps', {
  results: Type.Array(record('AverageTpsPoint', { timestamp, value: Type.Number() })),
  status: Type.Integer({ description: 'The HTTP status' }),
  lastRun: Type.Integer({ description: 'Unix time of the last update of the data' }),
  nextPageToken: Type.String({ description: 'For the next page, for 24 hours; absent on the last one' }),
});
