import { compareDecimals, type Parameters } from '../../http/parameters/check-parameters.ts';
import { findForeignAddress } from '../../http/parameters/parameter-formats.ts';
import { attempt } from '../../lib/encoding/parse-error.ts';
import { P_CHAIN_ID, PRIMARY_NETWORK_ID, parseHexOrCb58Id } from '../../warp/ids.ts';
import { MAINNET } from '../../warp/networks.ts';

/**
 * A violated rule of the specification between parameters of one request, each of which matches its own schema: a parameter, and the
 * text of the problem that follows its name.
 */
export type Conflict = readonly [name: string, problem: string];

function one(parameters: Parameters, name: string): string {
  const value = parameters[name];
  return typeof value === 'string' ? value : '';
}

export function findForeign(query: Parameters, name: string, path: Parameters): Conflict | undefined {
  if (query[name] === undefined) return undefined;
  const problem = findForeignAddress(one(query, name), one(path, 'network'));
  return problem === undefined ? undefined : [name, problem];
}

export function findMissingAddresses(query: Parameters): Conflict | undefined {
  if (query['addresses'] !== undefined) return undefined;
  const filter = ['txTypes', 'startTimestamp', 'endTimestamp'].find((name) => query[name] !== undefined);
  return filter === undefined ? undefined : [filter, 'is a filter that needs addresses'];
}

export function findMisplacedValidation(query: Parameters, path: Parameters): Conflict | undefined {
  const isAllowed =
    query['l1ValidationId'] === undefined || ['p-chain', P_CHAIN_ID].includes(one(path, 'blockchainId'));
  return isAllowed ? undefined : ['l1ValidationId', 'is a filter of the P-Chain only'];
}

export function findMisplacedSort(query: Parameters, path: Parameters): Conflict | undefined {
  if (query['sortBy'] !== 'delegationFee') return undefined;
  const subnetID = attempt(() => parseHexOrCb58Id(one(query, 'subnetId'), 'subnetId'));
  const isAllowed = path['network'] === MAINNET.name && subnetID === PRIMARY_NETWORK_ID;
  return isAllowed
    ? undefined
    : ['sortBy', `delegationFee works on mainnet only, and with subnetId ${PRIMARY_NETWORK_ID}`];
}

export function findEmptyRange(query: Parameters, min: string, max: string): Conflict | undefined {
  if (query[min] === undefined || query[max] === undefined) return undefined;
  return compareDecimals(one(query, min), one(query, max)) > 0 ? [min, `must not be above ${max}`] : undefined;
}

export function findEmptyBlockRange(query: Parameters): Conflict | undefined {
  const { startBlock, endBlock } = query;
  if (startBlock === undefined || endBlock === undefined) return undefined;
  return compareDecimals(one(query, 'startBlock'), one(query, 'endBlock')) < 0
    ? undefined
    : ['startBlock', 'must be below endBlock, which is not part of the range'];
}
