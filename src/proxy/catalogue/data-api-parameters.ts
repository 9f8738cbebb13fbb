import { Type } from 'typebox';
import { ANY_AMOUNT } from '../../http/parameters/check-parameters.ts';
import { PARAMETER_FORMATS, type ParameterFormatName } from '../../http/parameters/parameter-formats.ts';
import { oneOf, optionalText } from '../../lib/encoding/schema.ts';
import { P_CHAIN_ID } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';

/** Schemas of the parameters that several endpoints of the upstream services share, for the checks and for the OpenAPI document. */

export function formatted(format: ParameterFormatName, description?: string) {
  const { pattern } = PARAMETER_FORMATS[format];
  return Type.String({ format, pattern, ...(description !== undefined && { description }) });
}

/** Describes a text of an open set, of which the specification names these values. */
export function among(...values: readonly string[]): string {
  return `Among others ${values.map((value) => `\`${value}\``).join(', ')}`;
}

/** Types of the primary network's transactions. */
export const TRANSACTION_TYPES = among(
  'AddValidatorTx',
  'AddDelegatorTx',
  'ConvertSubnetToL1Tx',
  'IncreaseL1ValidatorBalanceTx',
);

/** Path names of the networks with a data API. */
export const DATA_NETWORKS: readonly string[] = PUBLIC_NETWORKS.flatMap(({ name, aliases }) => [name, ...aliases]);
export const network = oneOf(DATA_NETWORKS, 'testnet is an old name of fuji');

const X_CHAIN_IDS = PUBLIC_NETWORKS.map(({ xChainID }) => xChainID);
const C_CHAIN_IDS = PUBLIC_NETWORKS.map(({ cChainID }) => cChainID);
export const blockchainId = oneOf(
  ['p-chain', 'x-chain', 'c-chain', P_CHAIN_ID, ...X_CHAIN_IDS, ...C_CHAIN_IDS],
  'Alias or ID of a chain of the primary network',
);
export const xChainId = oneOf(['x-chain', ...X_CHAIN_IDS], 'Alias or ID of the X-Chain');

export const chainId = formatted('evm-chain-id', 'Number of an EVM chain, or ID of its blockchain');
export const evmAddress = formatted('evm-address');
export const blockId = formatted('evm-block-id', 'Number or hash of a block');

export const pageToken = optionalText('`nextPageToken` of the previous page');
export const sortOrder = Type.Optional(oneOf(['asc', 'desc'], 'By timestamp, or by sortBy'));
const timestamp = Type.Integer({ ...ANY_AMOUNT, description: 'Unix time' });
export const timeRange = {
  startTimestamp: Type.Optional({ ...timestamp, description: 'Unix time after which items are' }),
  endTimestamp: Type.Optional({ ...timestamp, description: 'Unix time before which items are' }),
};
export const addresses = formatted(
  'address-list',
  'Addresses separated by commas: avax1… on mainnet and fuji1… on fuji, with or without P- or X- before them, or 0x… for atomic transactions of the C-Chain',
);

export function paged(defaultSize: number, minimum: number, maximum: number) {
  return { pageToken, pageSize: Type.Optional(Type.Integer({ minimum, maximum, default: defaultSize })) };
}

export const blockRange = {
  startBlock: Type.Optional(Type.Number({ ...ANY_AMOUNT, description: 'First block; genesis by default' })),
  endBlock: Type.Optional(
    Type.Number({
      ...ANY_AMOUNT,
      description: 'The block after the last one; by default the range ends with the latest',
    }),
  ),
};

export const capacity = Type.Optional(
  formatted('delegation-capacity', 'In the smallest unit, from 0 to 720000000000000000'),
);
export const seconds = Type.Optional(Type.Number({ minimum: 0, maximum: 2_147_483_647, description: 'Seconds' }));
export const fee = { minimum: 2, maximum: 100 };
export const FEE_EFFECT = 'Percent; where it is given, validations of subnets are excluded';
export const uptime = { minimum: 0, maximum: 100, description: 'Percent' };
