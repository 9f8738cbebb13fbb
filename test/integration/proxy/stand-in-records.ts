/**
 * One record of each kind, written by hand from the field tables of the API's documents: every field is there, with the type
 * it has there.
 */

const ADDRESS = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
const HASH = `0x${'ab'.repeat(32)}`;
export const TX_ID = '2Z36RnQuk1hvsnFeGWzfZUfXNr7w1SjzmDQ78YxfTVNAkDq3nZ';
export const SUBNET_ID = '11111111111111111111111111111111LpoYY';
const X_CHAIN_ID = '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM';
export const NODE_ID = 'NodeID-111111111111111111116DBWJs';

const addressInfo = {
  name: 'Wrapped AVAX',
  symbol: 'WAVAX',
  decimals: 18,
  logoUri: 'https://images.test/a.png',
  address: ADDRESS,
};
const asset = { assetId: TX_ID, name: 'Avalanche', symbol: 'AVAX', denomination: 9, type: 'secp256k1', amount: '1' };
const blsCredentials = { publicKey: `0x${'8f'.repeat(48)}`, proofOfPossession: `0x${'9f'.repeat(96)}` };

const utxo = {
  addresses: ['avax1qm2a25eytsrj235hq4kp4rw4zq5jq8ahyqpk3c'],
  asset,
  consumedOnChainId: SUBNET_ID,
  consumingTxHash: TX_ID,
  createdOnChainId: SUBNET_ID,
  utxoId: TX_ID,
  utxoBytes: '0x00',
  amount: '5001000',
  assetId: TX_ID,
  blockNumber: '3752',
  blockTimestamp: 1599696000,
  consumingBlockNumber: '3753',
  consumingBlockTimestamp: 1599696001,
  platformLocktime: 0,
  outputIndex: 0,
  rewardType: 'VALIDATOR',
  stakeableLocktime: 0,
  staked: true,
  threshold: 1,
  txHash: TX_ID,
  utxoEndTimestamp: 1599696002,
  utxoStartTimestamp: 1599696000,
  utxoType: 'STAKE',
};

const allowList = {
  blockTimestamp: 0,
  adminAddresses: [ADDRESS],
  managerAddresses: [ADDRESS],
  enabledAddresses: [ADDRESS],
};

const genesisData = {
  airdropAmount: null,
  airdropHash: HASH,
  alloc: { [ADDRESS]: { balance: '0x1', code: '0x', storage: { '0x0': '0x1' } } },
  baseFeePerGas: null,
  blobGasUsed: null,
  coinbase: ADDRESS,
  config: {
    berlinBlock: 0,
    byzantiumBlock: 0,
    chainId: 43114,
    constantinopleBlock: 0,
    eip150Block: 0,
    eip155Block: 0,
    eip158Block: 0,
    homesteadBlock: 0,
    istanbulBlock: 0,
    londonBlock: 0,
    muirGlacierBlock: 0,
    petersburgBlock: 0,
    subnetEVMTimestamp: 0,
    eip150Hash: HASH,
    allowFeeRecipients: true,
    feeConfig: {
      baseFeeChangeDenominator: 36,
      blockGasCostStep: 200000,
      gasLimit: 8000000,
      maxBlockGasCost: 1000000,
      minBaseFee: 25000000000,
      minBlockGasCost: 0,
      targetBlockRate: 2,
      targetGas: 15000000,
    },
    warpConfig: { blockTimestamp: 0, quorumNumerator: 67, requirePrimaryNetworkSigners: true },
    txAllowListConfig: allowList,
    contractDeployerAllowListConfig: allowList,
    contractNativeMinterConfig: allowList,
    feeManagerConfig: allowList,
    rewardManagerConfig: allowList,
  },
  difficulty: '0x0',
  excessBlobGas: null,
  extraData: '0x',
  gasLimit: '0x1',
  gasUsed: '0x0',
  mixHash: HASH,
  nonce: '0x0',
  number: '0x0',
  parentHash: HASH,
  timestamp: '0x0',
};

const primaryTransaction = {
  txHash: TX_ID,
  txType: 'AddValidatorTx',
  blockTimestamp: 1648672486,
  blockNumber: '3752',
  blockHash: TX_ID,
  consumedUtxos: [utxo],
  emittedUtxos: [utxo],
  sourceChain: SUBNET_ID,
  destinationChain: SUBNET_ID,
  value: [asset],
  amountBurned: [asset],
  amountStaked: [asset],
  amountL1ValidatorBalanceBurned: [asset],
  startTimestamp: 1648672486,
  endTimestamp: 1648672487,
  delegationFeePercent: '2.0',
  nodeId: NODE_ID,
  subnetId: SUBNET_ID,
  l1ValidatorManagerDetails: { blockchainId: X_CHAIN_ID, contractAddress: ADDRESS },
  l1ValidatorDetails: [
    {
      validationId: TX_ID,
      validationIdHex: HASH,
      nodeId: NODE_ID,
      subnetId: SUBNET_ID,
      weight: 1000,
      remainingBalance: 1000000000,
      balanceChange: -500000,
      blsCredentials: {},
    },
  ],
  estimatedReward: '1',
  rewardTxHash: TX_ID,
  rewardAddresses: ['avax1qm2a25eytsrj235hq4kp4rw4zq5jq8ahyqpk3c'],
  memo: '0x',
  stakingTxHash: TX_ID,
  subnetOwnershipInfo: { locktime: 0, threshold: 1, addresses: ['avax1qm2a25eytsrj235hq4kp4rw4zq5jq8ahyqpk3c'] },
  blsCredentials,
  blockchainInfo: { chainName: 'chain', vmId: TX_ID, genesisData },
};

const blockchain = {
  createBlockTimestamp: 1599696000,
  createBlockNumber: '-1',
  blockchainId: X_CHAIN_ID,
  vmId: TX_ID,
  subnetId: SUBNET_ID,
  blockchainName: 'X-Chain',
  evmChainId: 43114,
  genesisData,
};

const validator = {
  txHash: TX_ID,
  nodeId: NODE_ID,
  subnetId: SUBNET_ID,
  amountStaked: '2000000000000',
  delegationFee: '2.0',
  startTimestamp: 1599696000,
  endTimestamp: 1599696001,
  blsCredentials,
  delegatorCount: 2,
  amountDelegated: '1',
  rewards: {
    validationRewardAmount: '1',
    delegationRewardAmount: '2',
    rewardAddresses: ['avax1qm2a25eytsrj235hq4kp4rw4zq5jq8ahyqpk3c'],
    rewardTxHash: TX_ID,
  },
  validationStatus: 'completed',
};

const delegator = {
  txHash: TX_ID,
  nodeId: NODE_ID,
  rewardAddresses: ['avax1qm2a25eytsrj235hq4kp4rw4zq5jq8ahyqpk3c'],
  amountDelegated: '1',
  delegationFee: '2.0',
  startTimestamp: 1599696000,
  endTimestamp: 1599696001,
  grossReward: '3',
  netReward: '2',
  delegationStatus: 'completed',
};

const vertex = {
  vertexHash: TX_ID,
  parentHashes: [TX_ID],
  vertexHeight: 123,
  vertexIndex: 0,
  vertexTimestamp: 1599696000,
  txCount: 1,
  transactions: [TX_ID],
  vertexSizeBytes: 100,
};

const primaryBlock = {
  blockNumber: '1',
  blockHash: TX_ID,
  parentHash: TX_ID,
  blockType: 'standard',
  blockTimestamp: 1599696000,
  txCount: 1,
  transactions: [TX_ID],
  blockSizeBytes: 100,
  l1ValidatorsAccruedFees: 1,
  activeL1Validators: 2,
  currentSupply: '360000000000000000',
  proposerDetails: {
    proposerId: TX_ID,
    proposerParentId: TX_ID,
    proposerNodeId: NODE_ID,
    proposerPChainHeight: 1,
    proposerTimestamp: 1599696000,
  },
};

const evmBlock = {
  chainId: '43114',
  blockNumber: '339',
  blockTimestamp: 1648672486,
  blockHash: HASH,
  txCount: 1,
  baseFee: '470000000000',
  gasUsed: '119999',
  gasLimit: '8000000',
  gasCost: '0',
  parentHash: HASH,
  feesSpent: '1',
  cumulativeTransactions: '1000',
};

const nativeTransaction = {
  blockNumber: '339',
  blockTimestamp: 1648672486,
  blockHash: HASH,
  chainId: '43114',
  blockIndex: 0,
  txHash: HASH,
  txStatus: '1',
  txType: 1,
  gasLimit: '51373',
  gasUsed: '51373',
  gasPrice: '470000000000',
  nonce: '1',
  from: addressInfo,
  to: addressInfo,
  method: { callType: 'CONTRACT_CALL', methodHash: '0xa9059cbb', methodName: 'transfer(address,uint256)' },
  value: '10000000000000000000',
};

/** The block fields, which transfers within the details of a transaction do not have. */
const inBlock = { blockNumber: '339', blockTimestamp: 1648672486, blockHash: HASH };
const erc20Transfer = {
  txHash: HASH,
  from: addressInfo,
  to: addressInfo,
  logIndex: 0,
  value: '10000000000000000000',
  erc20Token: {
    address: ADDRESS,
    name: 'Wrapped AVAX',
    symbol: 'WAVAX',
    decimals: 18,
    logoUri: 'https://images.test/a.png',
    ercType: 'ERC-20',
    price: { currencyCode: 'usd', value: '42.42' },
  },
};
const internalTransaction = {
  txHash: HASH,
  from: addressInfo,
  to: addressInfo,
  internalTxType: 'UNKNOWN',
  value: '1',
  isReverted: false,
  gasUsed: '1',
  gasLimit: '2',
};

const metadata = {
  indexStatus: 'indexed',
  metadataLastUpdatedTimestamp: 1648672486,
  name: 'one',
  symbol: 'ONE',
  imageUri: 'ipfs://one',
  description: 'first',
  animationUri: 'ipfs://two',
  externalUrl: 'https://images.test',
  background: '#fff',
};
const erc721Token = {
  address: ADDRESS,
  name: 'Tokens',
  symbol: 'TOK',
  ercType: 'ERC-721',
  tokenId: '145',
  tokenUri: 'https://images.test/145',
  ownerAddress: ADDRESS,
  metadata: { ...metadata, attributes: '[]' },
};
const erc1155Token = {
  address: ADDRESS,
  ercType: 'ERC-1155',
  tokenId: '145',
  tokenUri: 'https://images.test/145',
  metadata: { ...metadata, properties: '{}', decimals: 0 },
};

const price = { currencyCode: 'usd', value: '42.42' };
const transactionDetails = {
  erc20Transfers: [erc20Transfer],
  erc721Transfers: [{ from: addressInfo, to: addressInfo, logIndex: 1, erc721Token }],
  erc1155Transfers: [{ from: addressInfo, to: addressInfo, logIndex: 2, value: '1', erc1155Token }],
  internalTransactions: [internalTransaction],
  networkTokenDetails: {
    networkToken: {
      name: 'Avalanche',
      symbol: 'AVAX',
      decimals: 18,
      logoUri: 'https://images.test/a.png',
      description: 'token',
    },
    currentPrice: price,
    historicalPrice: price,
  },
  nativeTransaction: {
    ...nativeTransaction,
    input: '0x',
    baseFeePerGas: '1',
    maxFeePerGas: '2',
    maxPriorityFeePerGas: '3',
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
const metrics = {
  results: [{ timestamp: 1689541049, value: 74.2 }],
  status: 200,
  lastRun: 1689541049,
  nextPageToken,
};

/** What each operation answers. */
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
  getAverageTps: metrics,
} as const;
