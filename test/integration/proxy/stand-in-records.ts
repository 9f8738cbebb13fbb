/** One record of each kind, by hand from the field tables of the API's documents: every field, with the type that it has there. */

const ADDRESS = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
const HASH = `0x${'ab'.repeat(32)}`;
export const TX_ID = '2Z36RnQuk1hvsnFeGWzfZUfXNr7w1SjzmDQ78YxfTVNAkDq3nZ';
export const SUBNET_ID = '11111111111111111111111111111111LpoYY';
const X_CHAIN_ID = '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM';
export const NODE_ID = 'NodeID-111111111111111111116DBWJs';
const P_ADDRESSES = ['avax1qm2a25eytsrj235hq4kp4rw4zq5jq8ahyqpk3c'];
const TIME = 1_599_696_000;
const AMOUNT = '10000000000000000000';
const LOGO = 'https://images.test/a.png';

/** Gives all names, separated by blanks, the same value. */
function all<Value>(value: Value, names: string): Record<string, Value> {
  return Object.fromEntries(names.split(' ').map((name) => [name, value]));
}

const addressInfo = { name: 'Wrapped AVAX', symbol: 'WAVAX', decimals: 18, logoUri: LOGO, address: ADDRESS };
const sides = { from: addressInfo, to: addressInfo };
const asset = { assetId: TX_ID, name: 'Avalanche', symbol: 'AVAX', denomination: 9, type: 'secp256k1', amount: '1' };
const blsCredentials = { publicKey: `0x${'8f'.repeat(48)}`, proofOfPossession: `0x${'9f'.repeat(96)}` };

const utxo = {
  ...all(TX_ID, 'consumingTxHash utxoId assetId txHash'),
  ...all(SUBNET_ID, 'consumedOnChainId createdOnChainId'),
  ...all('3752', 'amount blockNumber consumingBlockNumber'),
  ...all(TIME, 'blockTimestamp consumingBlockTimestamp utxoEndTimestamp utxoStartTimestamp'),
  ...all(0, 'platformLocktime outputIndex stakeableLocktime threshold'),
  addresses: P_ADDRESSES,
  asset,
  utxoBytes: '0x00',
  rewardType: 'VALIDATOR',
  staked: true,
  utxoType: 'STAKE',
};

const allowList = { blockTimestamp: 0, ...all([ADDRESS], 'adminAddresses managerAddresses enabledAddresses') };

const genesisData = {
  ...all(null, 'airdropAmount baseFeePerGas blobGasUsed excessBlobGas'),
  ...all(HASH, 'airdropHash mixHash parentHash'),
  ...all('0x0', 'coinbase difficulty extraData gasLimit gasUsed nonce number timestamp'),
  alloc: { [ADDRESS]: { balance: '0x1', code: '0x', storage: { '0x0': '0x1' } } },
  config: {
    ...all(0, 'berlinBlock byzantiumBlock chainId constantinopleBlock eip150Block eip155Block eip158Block'),
    ...all(0, 'homesteadBlock istanbulBlock londonBlock muirGlacierBlock petersburgBlock subnetEVMTimestamp'),
    eip150Hash: HASH,
    allowFeeRecipients: true,
    feeConfig: {
      ...all(36, 'baseFeeChangeDenominator blockGasCostStep gasLimit maxBlockGasCost minBaseFee minBlockGasCost'),
      ...all(2, 'targetBlockRate targetGas'),
    },
    warpConfig: { blockTimestamp: 0, quorumNumerator: 67, requirePrimaryNetworkSigners: true },
    ...all(allowList, 'txAllowListConfig contractDeployerAllowListConfig contractNativeMinterConfig'),
    ...all(allowList, 'feeManagerConfig rewardManagerConfig'),
  },
};

const primaryTransaction = {
  ...all(TX_ID, 'txHash blockHash rewardTxHash stakingTxHash'),
  ...all(SUBNET_ID, 'sourceChain destinationChain subnetId'),
  ...all([utxo], 'consumedUtxos emittedUtxos'),
  ...all([asset], 'value amountBurned amountStaked amountL1ValidatorBalanceBurned'),
  ...all(TIME, 'blockTimestamp startTimestamp endTimestamp'),
  txType: 'AddValidatorTx',
  blockNumber: '3752',
  delegationFeePercent: '2.0',
  nodeId: NODE_ID,
  estimatedReward: '1',
  rewardAddresses: P_ADDRESSES,
  memo: '0x',
  blsCredentials,
  l1ValidatorManagerDetails: { blockchainId: X_CHAIN_ID, contractAddress: ADDRESS },
  l1ValidatorDetails: [
    {
      validationId: TX_ID,
      validationIdHex: HASH,
      nodeId: NODE_ID,
      subnetId: SUBNET_ID,
      weight: 1_000,
      remainingBalance: 1_000_000_000,
      balanceChange: -500_000,
      blsCredentials: {},
    },
  ],
  subnetOwnershipInfo: { locktime: 0, threshold: 1, addresses: P_ADDRESSES },
  blockchainInfo: { chainName: 'chain', vmId: TX_ID, genesisData },
};

const blockchain = {
  createBlockTimestamp: TIME,
  createBlockNumber: '-1',
  blockchainId: X_CHAIN_ID,
  vmId: TX_ID,
  subnetId: SUBNET_ID,
  blockchainName: 'X-Chain',
  evmChainId: 43_114,
  genesisData,
};

const validator = {
  txHash: TX_ID,
  nodeId: NODE_ID,
  subnetId: SUBNET_ID,
  amountStaked: '2000000000000',
  delegationFee: '2.0',
  ...all(TIME, 'startTimestamp endTimestamp'),
  blsCredentials,
  delegatorCount: 2,
  amountDelegated: '1',
  rewards: {
    validationRewardAmount: '1',
    delegationRewardAmount: '2',
    rewardTxHash: TX_ID,
    rewardAddresses: P_ADDRESSES,
  },
  validationStatus: 'completed',
};

const delegator = {
  txHash: TX_ID,
  nodeId: NODE_ID,
  rewardAddresses: P_ADDRESSES,
  amountDelegated: '1',
  delegationFee: '2.0',
  ...all(TIME, 'startTimestamp endTimestamp'),
  grossReward: '3',
  netReward: '2',
  delegationStatus: 'completed',
};

const vertex = {
  vertexHash: TX_ID,
  ...all([TX_ID], 'parentHashes transactions'),
  vertexTimestamp: TIME,
  ...all(1, 'vertexHeight vertexIndex txCount vertexSizeBytes'),
};

const primaryBlock = {
  blockNumber: '1',
  ...all(TX_ID, 'blockHash parentHash'),
  blockType: 'standard',
  transactions: [TX_ID],
  ...all(1, 'blockTimestamp txCount blockSizeBytes l1ValidatorsAccruedFees activeL1Validators'),
  currentSupply: '360000000000000000',
  proposerDetails: {
    ...all(TX_ID, 'proposerId proposerParentId'),
    proposerNodeId: NODE_ID,
    proposerPChainHeight: 1,
    proposerTimestamp: TIME,
  },
};

const evmBlock = {
  ...all('339', 'chainId blockNumber baseFee gasUsed gasLimit gasCost feesSpent cumulativeTransactions'),
  blockTimestamp: TIME,
  blockHash: HASH,
  txCount: 1,
  parentHash: HASH,
};

const nativeTransaction = {
  ...all('339', 'blockNumber chainId txStatus gasLimit gasUsed gasPrice nonce'),
  blockTimestamp: TIME,
  blockHash: HASH,
  blockIndex: 0,
  txHash: HASH,
  txType: 1,
  value: AMOUNT,
  ...sides,
  method: { callType: 'CONTRACT_CALL', methodHash: '0xa9059cbb', methodName: 'transfer(address,uint256)' },
};

/** The block's fields, which transfers within the details of a transaction do not have. */
const inBlock = { blockNumber: '339', blockTimestamp: TIME, blockHash: HASH };
const price = { currencyCode: 'usd', value: '42.42' };
const erc20Transfer = {
  txHash: HASH,
  ...sides,
  logIndex: 0,
  value: AMOUNT,
  erc20Token: { ...addressInfo, ercType: 'ERC-20', price },
};
const internalTransaction = {
  txHash: HASH,
  ...sides,
  internalTxType: 'UNKNOWN',
  value: '1',
  isReverted: false,
  gasUsed: '1',
  gasLimit: '2',
};

const metadata = {
  ...all('text', 'name symbol description background'),
  ...all('https://images.test/a', 'imageUri animationUri externalUrl'),
  indexStatus: 'indexed',
  metadataLastUpdatedTimestamp: TIME,
};
const token = { address: ADDRESS, tokenId: '145', tokenUri: 'https://images.test/145' };
const erc721Token = {
  ...token,
  name: 'Tokens',
  symbol: 'TOK',
  ercType: 'ERC-721',
  ownerAddress: ADDRESS,
  metadata: { ...metadata, attributes: '[]' },
};
const erc1155Token = { ...token, ercType: 'ERC-1155', metadata: { ...metadata, properties: '{}', decimals: 0 } };

const transactionDetails = {
  erc20Transfers: [erc20Transfer],
  erc721Transfers: [{ ...sides, logIndex: 1, erc721Token }],
  erc1155Transfers: [{ ...sides, logIndex: 2, value: '1', erc1155Token }],
  internalTransactions: [internalTransaction],
  networkTokenDetails: {
    networkToken: { name: 'Avalanche', symbol: 'AVAX', decimals: 18, logoUri: LOGO, description: 'token' },
    currentPrice: price,
    historicalPrice: price,
  },
  nativeTransaction: {
    ...nativeTransaction,
    ...all('1', 'input baseFeePerGas maxFeePerGas maxPriorityFeePerGas'),
  },
  teleporterMessageInfo: {
    teleporterMessageId: HASH,
    direction: 'SOURCE_TRANSACTION',
    sourceChainId: '43114',
    destinationChainId: '43113',
  },
};

const chainInfo = { chainName: 'p-chain', network: 'mainnet' };
const nextPageToken = '3d22deea-ea64-4d30-8a1e-c2a353b67e90';

/** The answer to each operation. */
export const ANSWERS = {
  listPrimaryNetworkTransactions: { nextPageToken, transactions: [primaryTransaction], chainInfo },
  getPrimaryNetworkTransaction: primaryTransaction,
  listBlockchains: { nextPageToken, blockchains: [blockchain] },
  listValidators: { nextPageToken, validators: [validator] },
  listDelegators: { nextPageToken, delegators: [delegator] },
  listVertices: { nextPageToken, vertices: [vertex], chainInfo },
  listVerticesByHeight: { nextPageToken, vertices: [vertex], chainInfo },
  listBlocksOfNode: { nextPageToken, blocks: [primaryBlock], chainInfo },
  listChainIdsOfAddresses: { addresses: [{ address: ADDRESS, blockchainIds: [X_CHAIN_ID] }] },
  listErc20Transfers: { nextPageToken, transactions: [{ ...inBlock, ...erc20Transfer }] },
  listInternalTransactions: { nextPageToken, transactions: [{ ...inBlock, ...internalTransaction }] },
  listTokenTransfers: { nextPageToken, transfers: [{ ...inBlock, ...erc20Transfer }] },
  getEvmBlock: evmBlock,
  listBlockTransactions: { nextPageToken, transactions: [nativeTransaction] },
  getEvmTransaction: transactionDetails,
  listNftTokens: { nextPageToken, tokens: [erc721Token, erc1155Token] },
  getAverageTps: { results: [{ timestamp: TIME, value: 74.2 }], status: 200, lastRun: TIME, nextPageToken },
} as const;
