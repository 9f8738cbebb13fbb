import { type TProperties, type TSchema, Type } from 'typebox';

/** Answers of the upstream services, for the OpenAPI document. Answers are not checked, so that new fields reach clients at once. */

const text = Type.String();
const integer = Type.Integer();
const flag = Type.Boolean();
const amount = Type.String({ description: 'A decimal integer' });
const timestamp = Type.Integer({ description: 'Unix time' });
const texts = Type.Array(text);

function record(properties: TProperties) {
  return Type.Partial(Type.Object(properties));
}

/** @param names separated by blanks */
function all<Schema extends TSchema>(schema: Schema, names: string): Record<string, Schema> {
  return Object.fromEntries(names.split(' ').map((name) => [name, schema]));
}

function list(name: string, item: TSchema, more: TProperties = {}) {
  return record({
    nextPageToken: Type.String({ description: 'For the next page; absent on the last one' }),
    [name]: Type.Array(item),
    ...more,
  });
}

const chainInfo = record({ chainName: text, network: text });
const AddressInfo = record({ name: text, symbol: text, decimals: integer, logoUri: text, address: text });
const AssetAmount = record({ ...all(text, 'assetId name symbol'), denomination: integer, type: text, amount });
const BlsCredentials = record({ publicKey: text, proofOfPossession: text });

const Utxo = record({
  addresses: texts,
  asset: AssetAmount,
  ...all(text, 'consumedOnChainId consumingTxHash createdOnChainId utxoId utxoBytes amount assetId blockNumber'),
  ...all(text, 'consumingBlockNumber rewardType txHash utxoType'),
  ...all(timestamp, 'blockTimestamp consumingBlockTimestamp utxoEndTimestamp utxoStartTimestamp'),
  ...all(integer, 'platformLocktime outputIndex stakeableLocktime threshold'),
  staked: flag,
});

const AllowList = record({
  blockTimestamp: timestamp,
  ...all(texts, 'adminAddresses managerAddresses enabledAddresses'),
});

const GenesisData = record({
  ...all(Type.Unsafe<string | null>({ type: ['string', 'null'] }), 'airdropAmount baseFeePerGas blobGasUsed'),
  excessBlobGas: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  alloc: Type.Record(text, record({ balance: text, code: text, storage: Type.Record(text, text) })),
  ...all(text, 'airdropHash coinbase difficulty extraData gasLimit gasUsed mixHash nonce number parentHash'),
  ...all(text, 'timestamp'),
  config: record({
    ...all(integer, 'berlinBlock byzantiumBlock chainId constantinopleBlock eip150Block eip155Block eip158Block'),
    ...all(integer, 'homesteadBlock istanbulBlock londonBlock muirGlacierBlock petersburgBlock subnetEVMTimestamp'),
    eip150Hash: text,
    allowFeeRecipients: flag,
    feeConfig: record({
      ...all(integer, 'baseFeeChangeDenominator blockGasCostStep gasLimit maxBlockGasCost minBaseFee'),
      ...all(integer, 'minBlockGasCost targetBlockRate targetGas'),
    }),
    warpConfig: record({ blockTimestamp: timestamp, quorumNumerator: integer, requirePrimaryNetworkSigners: flag }),
    ...all(AllowList, 'txAllowListConfig contractDeployerAllowListConfig contractNativeMinterConfig'),
    ...all(AllowList, 'feeManagerConfig rewardManagerConfig'),
  }),
});

export const PrimaryNetworkTransaction = record({
  ...all(text, 'txHash txType blockNumber blockHash sourceChain destinationChain'),
  ...all(timestamp, 'blockTimestamp startTimestamp endTimestamp'),
  ...all(Type.Array(Utxo), 'consumedUtxos emittedUtxos'),
  ...all(Type.Array(AssetAmount), 'value amountBurned amountStaked amountL1ValidatorBalanceBurned'),
  ...all(text, 'delegationFeePercent nodeId subnetId estimatedReward rewardTxHash memo stakingTxHash'),
  l1ValidatorManagerDetails: record({ blockchainId: text, contractAddress: text }),
  l1ValidatorDetails: Type.Array(
    record({
      ...all(text, 'validationId validationIdHex nodeId subnetId'),
      ...all(integer, 'weight remainingBalance balanceChange'),
      blsCredentials: Type.Object({}),
    }),
  ),
  rewardAddresses: texts,
  subnetOwnershipInfo: record({ locktime: integer, threshold: integer, addresses: texts }),
  blsCredentials: BlsCredentials,
  blockchainInfo: record({ chainName: text, vmId: text, genesisData: GenesisData }),
});

const Blockchain = record({
  createBlockTimestamp: timestamp,
  ...all(text, 'createBlockNumber blockchainId vmId subnetId blockchainName'),
  evmChainId: integer,
  genesisData: GenesisData,
});

const Validator = record({
  ...all(text, 'txHash nodeId subnetId amountStaked delegationFee'),
  ...all(timestamp, 'startTimestamp endTimestamp'),
  blsCredentials: BlsCredentials,
  delegatorCount: integer,
  amountDelegated: amount,
  rewards: record({
    ...all(text, 'validationRewardAmount delegationRewardAmount rewardTxHash'),
    rewardAddresses: texts,
  }),
  validationStatus: text,
});

const Delegator = record({
  ...all(text, 'txHash nodeId amountDelegated delegationFee grossReward netReward delegationStatus'),
  rewardAddresses: texts,
  ...all(timestamp, 'startTimestamp endTimestamp'),
});

const Vertex = record({
  vertexHash: text,
  ...all(texts, 'parentHashes transactions'),
  ...all(integer, 'vertexHeight vertexIndex txCount vertexSizeBytes'),
  vertexTimestamp: timestamp,
});

const PrimaryNetworkBlock = record({
  ...all(text, 'blockNumber blockHash parentHash blockType currentSupply'),
  blockTimestamp: timestamp,
  ...all(integer, 'txCount blockSizeBytes l1ValidatorsAccruedFees activeL1Validators'),
  transactions: texts,
  proposerDetails: record({
    ...all(text, 'proposerId proposerParentId proposerNodeId'),
    ...all(integer, 'proposerPChainHeight proposerTimestamp'),
  }),
});

export const EvmBlock = record({
  ...all(text, 'chainId blockNumber blockHash baseFee gasUsed gasLimit gasCost parentHash feesSpent'),
  ...all(text, 'cumulativeTransactions'),
  blockTimestamp: timestamp,
  txCount: integer,
});

const nativeTransaction = {
  ...all(text, 'blockNumber blockHash chainId txHash txStatus gasLimit gasUsed gasPrice nonce value'),
  blockTimestamp: timestamp,
  ...all(integer, 'blockIndex txType'),
  ...all(AddressInfo, 'from to'),
  method: record({ callType: text, methodHash: text, methodName: text }),
};

/** Missing in the transfers of a transaction's details. */
const inBlock = { blockNumber: text, blockHash: text, blockTimestamp: timestamp };
const Price = record({ currencyCode: text, value: text });

const erc20Transfer = {
  txHash: text,
  value: amount,
  logIndex: integer,
  ...all(AddressInfo, 'from to'),
  erc20Token: record({
    ...all(text, 'address name symbol logoUri ercType'),
    decimals: integer,
    price: Price,
  }),
};

const internalTransaction = {
  ...all(text, 'txHash value gasUsed gasLimit internalTxType'),
  ...all(AddressInfo, 'from to'),
  isReverted: flag,
};

const metadata = {
  ...all(text, 'indexStatus name symbol imageUri description animationUri externalUrl background'),
  metadataLastUpdatedTimestamp: timestamp,
};
const Erc721Token = record({
  ...all(text, 'address name symbol ercType tokenId tokenUri ownerAddress'),
  metadata: record({ ...metadata, attributes: text }),
});
const Erc1155Token = record({
  ...all(text, 'address ercType tokenId tokenUri'),
  metadata: record({ ...metadata, properties: text, decimals: integer }),
});

export const EvmTransactionDetails = record({
  erc20Transfers: Type.Array(record(erc20Transfer)),
  erc721Transfers: Type.Array(record({ ...all(AddressInfo, 'from to'), logIndex: integer, erc721Token: Erc721Token })),
  erc1155Transfers: Type.Array(
    record({ ...all(AddressInfo, 'from to'), logIndex: integer, value: amount, erc1155Token: Erc1155Token }),
  ),
  internalTransactions: Type.Array(record(internalTransaction)),
  networkTokenDetails: record({
    networkToken: record({ name: text, symbol: text, decimals: integer, logoUri: text, description: text }),
    ...all(Price, 'currentPrice historicalPrice'),
  }),
  nativeTransaction: record({
    ...nativeTransaction,
    ...all(text, 'input baseFeePerGas maxFeePerGas maxPriorityFeePerGas'),
  }),
  teleporterMessageInfo: record(all(text, 'teleporterMessageId direction sourceChainId destinationChainId')),
});

export const PrimaryNetworkTransactions = list('transactions', PrimaryNetworkTransaction, { chainInfo });
export const Blockchains = list('blockchains', Blockchain);
export const Validators = list('validators', Validator);
export const Delegators = list('delegators', Delegator);
export const Vertices = list('vertices', Vertex, { chainInfo });
export const PrimaryNetworkBlocks = list('blocks', PrimaryNetworkBlock, { chainInfo });
export const AddressChains = record({ addresses: Type.Array(record({ address: text, blockchainIds: texts })) });
export const Erc20Transfers = list('transactions', record({ ...inBlock, ...erc20Transfer }));
export const TokenTransfers = list('transfers', record({ ...inBlock, ...erc20Transfer }));
export const InternalTransactions = list('transactions', record({ ...inBlock, ...internalTransaction }));
export const BlockTransactions = list('transactions', record(nativeTransaction));
export const NftTokens = list('tokens', Type.Union([Erc721Token, Erc1155Token]));

export const AverageTps = record({
  results: Type.Array(record({ timestamp, value: Type.Number() })),
  status: Type.Integer({ description: 'The HTTP status' }),
  lastRun: Type.Integer({ description: 'Unix time of the last update of the data' }),
  nextPageToken: Type.String({ description: 'For the next page, for 24 hours; absent on the last one' }),
});
