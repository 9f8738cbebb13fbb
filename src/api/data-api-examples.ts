import type { TSchema } from 'typebox';
import { PRIMARY_NETWORK_ID } from '../primitives/ids.ts';
import { MAINNET } from '../primitives/networks.ts';

/** Of mainnet: its first validator, the owner of its first output, and the transaction that made its C-Chain. */
export const MAINNET_NODE = 'NodeID-A6onFGyJjA37EZ7kYHANMR1PFRT8NmXrF';
export const MAINNET_ADDRESS = 'avax1yu8wlxfdkj8mnca60jwwzvfyqzd6xlnf635tld';
export const MAINNET_TRANSACTION: string = MAINNET.cChainID;
/** Of its C-Chain, as the documents of the data API have them: USDC, a block, a transaction. */
export const EVM_CONTRACT = '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E';
export const EVM_BLOCK = '0x17533aeb5193378b9ff441d61728e7a2ebaf10f61fd5310759451627dfca2e7c';
export const EVM_TRANSACTION = '0x8bf584d7b14b92a32a339872a66b134a70ba3ba7c305823f348db6f860253f45';

/** A validator's key and its proof, as the first node of a local network has them. */
const BLS_KEY = '0x900c9b119b5c82d781d4b49be78c3fc7ae65f2b435b7ed9e3a8b9a03e475edff86d8a64827fec8db23a6f236afbf127d';
const BLS_PROOF =
  '0x8bfd6d4d2086b2b8115d8f72f94095fefe5a6c07876b2accf51a811adf520f389e74a3d2152a6d90b521e2be58ffe468' +
  '043dc5ea68b4c44410eb67f8dc24f13ed4f194000764c0e922cd254a3588a4962b1cb4db7de4bb9cda9d9d4d6b03f3d2';

/** By the name of the field. */
const TEXTS: Readonly<Record<string, string>> = {
  ...{ name: 'USD Coin', symbol: 'USDC', address: EVM_CONTRACT, ercType: 'ERC-20', type: 'secp256k1' },
  ...{ logoUri: 'https://images.example/usdc.png', currencyCode: 'usd', value: '1000000', amount: '2000000000' },
  ...{ nextPageToken: '3d22deea-ea64-4d30-8a1e-c2a353b67e90', chainName: 'p-chain', network: 'mainnet' },
  ...{ assetId: 'FvwEAhmxKfeiG8SnEvq42hc6whRyY3EFYAvebMqDNDGCgxN5Z', memo: '0x', callType: 'CONTRACT_CALL' },
  ...{ publicKey: BLS_KEY, proofOfPossession: BLS_PROOF, nodeId: MAINNET_NODE, subnetId: PRIMARY_NETWORK_ID },
  ...{ addresses: MAINNET_ADDRESS, rewardAddresses: MAINNET_ADDRESS, ownerAddress: EVM_CONTRACT },
  ...{
    amountStaked: '2000000000000',
    amountDelegated: '25000000000',
    delegationFee: '2.0',
    delegationFeePercent: '2.0',
  },
  ...{ validationStatus: 'active', delegationStatus: 'active', validationRewardAmount: '155000000000' },
  ...{ delegationRewardAmount: '3000000000', grossReward: '2100000000', netReward: '2058000000' },
  ...{ estimatedReward: '155000000000', rewardType: 'VALIDATOR', utxoType: 'TRANSFER', utxoBytes: '0x00' },
  ...{ txType: 'AddPermissionlessValidatorTx', blockType: 'BanffStandardBlock', currentSupply: '458000000000000000' },
  ...{ validationIdHex: `0x${'5f'.repeat(32)}`, contractAddress: EVM_CONTRACT, blockchainName: 'C-Chain' },
  ...{ vmId: 'mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6', createBlockNumber: '-1' },
  ...{ gasUsed: '51373', gasLimit: '8000000', gasPrice: '25000000000', gasCost: '0', baseFee: '25000000000' },
  ...{ baseFeePerGas: '25000000000', maxFeePerGas: '30000000000', maxPriorityFeePerGas: '1500000000' },
  ...{ feesSpent: '1284325000000000', cumulativeTransactions: '1000', nonce: '7', txStatus: '1', input: '0x' },
  ...{ methodHash: '0xa9059cbb', methodName: 'transfer(address,uint256)', internalTxType: 'CALL' },
  ...{ tokenId: '145', tokenUri: 'ipfs://token/145', indexStatus: 'INDEXED', imageUri: 'ipfs://image/145' },
  ...{ animationUri: '', externalUrl: 'https://tokens.example/145', background: '#ffffff', attributes: '[]' },
  ...{ description: 'The native token', properties: '{}', direction: 'SOURCE_TRANSACTION' },
  ...{ sourceChainId: MAINNET.evmChainID, destinationChainId: '43113', chainId: MAINNET.evmChainID },
  ...{ sourceChain: 'p-chain', destinationChain: 'p-chain', teleporterMessageId: `0x${'7a'.repeat(32)}` },
  blockNumber: '339',
};
const NUMBERS: Readonly<Record<string, number>> = {
  ...{
    decimals: 6,
    denomination: 9,
    outputIndex: 0,
    threshold: 1,
    locktime: 0,
    platformLocktime: 0,
    stakeableLocktime: 0,
  },
  ...{ blockTimestamp: 1_648_672_486, startTimestamp: 1_648_672_486, endTimestamp: 1_680_208_486 },
  ...{ createBlockTimestamp: 1_599_696_000, metadataLastUpdatedTimestamp: 1_648_672_486, lastRun: 1_689_541_049 },
  ...{ consumingBlockTimestamp: 1_648_672_486, utxoStartTimestamp: 1_648_672_486, utxoEndTimestamp: 1_680_208_486 },
  ...{ vertexTimestamp: 1_600_373_270, timestamp: 1_689_541_049, proposerTimestamp: 1_648_672_486 },
  ...{ vertexHeight: 123, vertexIndex: 0, vertexSizeBytes: 420, txCount: 1, blockSizeBytes: 1_250 },
  ...{ blockIndex: 0, txType: 2, logIndex: 3, delegatorCount: 12, evmChainId: Number(MAINNET.evmChainID) },
  ...{ weight: 100, remainingBalance: 1_000_000_000, balanceChange: 1_000_000_000, proposerPChainHeight: 338 },
  ...{ l1ValidatorsAccruedFees: 0, activeL1Validators: 0, value: 24.2, status: 200 },
};
/** Hashes are in another form on the primary network than on EVM chains. */
const HASH_NAMES = [
  ...['txHash', 'blockHash', 'parentHash', 'rewardTxHash', 'stakingTxHash', 'consumingTxHash', 'parentHashes'],
  ...['transactions', 'vertexHash', 'utxoId', 'blockchainId', 'blockchainIds', 'validationId', 'proposerId'],
  ...['proposerParentId', 'proposerNodeId', 'consumedOnChainId', 'createdOnChainId', 'consumingBlockNumber'],
];
const PRIMARY_TEXTS: Readonly<Record<string, string>> = {
  ...TEXTS,
  ...Object.fromEntries(HASH_NAMES.map((name) => [name, MAINNET_TRANSACTION])),
  ...{ name: 'Avalanche', symbol: 'AVAX', address: MAINNET_ADDRESS, proposerNodeId: MAINNET_NODE },
  ...{ consumedOnChainId: 'p-chain', createdOnChainId: 'p-chain', consumingBlockNumber: '340' },
};
const EVM_TEXTS: Readonly<Record<string, string>> = {
  ...TEXTS,
  ...{ txHash: EVM_TRANSACTION, blockHash: EVM_BLOCK, parentHash: `0x${'1c'.repeat(32)}` },
};

/** A genesis is longer than all else together. */
const LEFT_OUT: readonly string[] = ['genesisData'];

interface Shape {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** An answer of the data API or the metrics service in this shape, for the document: values in the form that mainnet's have. */
export function dataApiExample(schema: TSchema, isOfPrimaryNetwork: boolean): unknown {
  return exampleOf(schema as Shape, '', isOfPrimaryNetwork ? PRIMARY_TEXTS : EVM_TEXTS);
}

function exampleOf({ type, properties, items, anyOf }: Shape, name: string, texts: typeof TEXTS): unknown {
  const [first] = anyOf ?? [];
  if (first !== undefined) return exampleOf(first, name, texts);
  if (items !== undefined) return [exampleOf(items, name, texts)];
  switch (type) {
    case 'object': {
      const fields = Object.entries(properties ?? {}).filter(([field]) => !LEFT_OUT.includes(field));
      return Object.fromEntries(fields.map(([field, schema]) => [field, exampleOf(schema, field, texts)]));
    }
    case 'integer':
    case 'number':
      return NUMBERS[name];
    case 'boolean':
      return false;
    default:
      return texts[name];
  }
}
