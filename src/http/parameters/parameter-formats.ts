import { bech32 } from '@scure/base';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { parseHexOrCb58Id, parseId, parseNodeID } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { MAX_SHOWN_LENGTH } from '../errors/http-error.ts';

/** A parameter format for which JSON Schema has no keyword. */
export interface ParameterFormat {
  /** Matches all valid texts, and also texts with a wrong checksum. */
  readonly pattern: string;
  /** Returns the text of the problem that follows the parameter's name; undefined if there is none. */
  readonly findProblem: (text: string) => string | undefined;
}

const CB58 = '[1-9A-HJ-NP-Za-km-z]';
/** 32 bytes with a checksum of four bytes have 37 characters (all zero) to 50. */
const CB58_ID = `${CB58}{37,50}`;
const ANY_ID = `0x[0-9a-fA-F]{64}|[0-9a-fA-F]{64}|${CB58_ID}`;
/** 20 bytes with a checksum of four bytes. */
const NODE_ID = `NodeID-${CB58}{25,33}`;
/** 64 bits. */
const NUMBER = '[1-9][0-9]{0,19}';

/** Human-readable part of a public network's bech32 addresses. */
const ADDRESS_PREFIXES = { mainnet: 'avax', fuji: 'fuji' } as const;
/** Address prefix of each name that a public network has in paths. */
const ADDRESS_PREFIX_OF = new Map(
  PUBLIC_NETWORKS.flatMap(({ name, aliases }) =>
    [name, ...aliases].map((pathName) => [pathName, ADDRESS_PREFIXES[name]] as const),
  ),
);

/** 20 bytes with a checksum of six characters. EVM addresses are for atomic transactions of the C-Chain. */
const ADDRESS = `0x[0-9a-fA-F]{40}|(?:[PX]-)?(?:${Object.values(ADDRESS_PREFIXES).join('|')})1[02-9ac-hj-np-z]{38}`;
const ADDRESS_PROBLEM = 'must be addresses such as P-avax1…, X-fuji1… or 0x…, separated by commas';

const nodeID = parsed(NODE_ID, 'must be NodeID- followed by 20 bytes in cb58', parseNodeID);

export const PARAMETER_FORMATS = {
  'primary-network-id': parsed(ANY_ID, 'must be a 32-byte ID in hex or cb58', parseAnyId),
  'evm-chain-id': parsed(
    `${NUMBER}|${ANY_ID}`,
    'must be the number of an EVM chain or the ID of a blockchain',
    (text) => isChainNumber(text) || parseAnyId(text),
  ),
  'evm-address': matching('0x[0-9a-fA-F]{40}', 'must be 0x followed by 40 hex digits'),
  'evm-hash': matching('0x[0-9a-fA-F]{64}', 'must be 0x followed by 64 hex digits'),
  'evm-block-id': matching(
    `0x[0-9a-fA-F]{64}|0|${NUMBER}`,
    'must be the number of a block, or its hash: 0x followed by 64 hex digits',
  ),
  'token-id': parsed('0x[0-9a-fA-F]{1,64}|[0-9]{1,78}', 'must be a number of up to 256 bits', (text) => {
    if (BigInt(text) >= 2n ** 256n) throw new ParseError('token-id', 'must be a number of up to 256 bits');
  }),
  'node-id': nodeID,
  'node-id-list': listed(nodeID),
  // The filter of validators matches any part of a NodeID.
  'node-id-part-list': listed(matching('[A-Za-z0-9-]{1,64}', 'must hold NodeIDs or parts of them')),
  'address-list': listed(parsed(ADDRESS, ADDRESS_PROBLEM, parseAddress)),
  // The specification's list of types is open.
  'transaction-type': matching('[A-Za-z0-9_]{1,64}', 'must be a transaction type such as AddValidatorTx'),
  // The supply cap of the native token: 720 million, with nine decimals.
  'delegation-capacity': matching(
    '0|[1-9][0-9]{0,16}|[1-6][0-9]{17}|7[01][0-9]{16}|720{16}',
    'must be an integer from 0 to 720000000000000000',
  ),
  'rpc-chain': parsed(
    `X|P|${CB58_ID}`,
    'must be X, P or the ID of a blockchain in cb58',
    (text) => ['X', 'P'].includes(text) || parseId(text, 'ID'),
  ),
} as const satisfies Record<string, ParameterFormat>;

export type ParameterFormatName = keyof typeof PARAMETER_FORMATS;

/** Returns whether a text of the format `evm-chain-id` is a number and not an ID. */
export function isChainNumber(text: string): boolean {
  return /^[0-9]{1,20}$/.test(text);
}

/** Returns the problem of a list of well-formed addresses that has one of another network. @param network name of a public network in paths */
export function findForeignAddress(list: string, network: string): string | undefined {
  const prefix = ADDRESS_PREFIX_OF.get(network);
  const foreign = list
    .split(',')
    .find((address) => !address.startsWith('0x') && !address.replace(/^[PX]-/, '').startsWith(`${prefix}1`));
  return foreign === undefined ? undefined : `must be addresses of ${network}, which start with ${prefix}1`;
}

/** Creates a format that a regular expression describes completely. */
function matching(source: string, problem: string): ParameterFormat {
  const pattern = new RegExp(`^(?:${source})$`);
  return { pattern: pattern.source, findProblem: (text) => (pattern.test(text) ? undefined : problem) };
}

/** Creates a format whose texts match a regular expression and can be parsed without a {@link ParseError}. */
function parsed(source: string, problem: string, parse: (text: string) => unknown): ParameterFormat {
  const { pattern, findProblem } = matching(source, problem);
  return {
    pattern,
    findProblem(text) {
      const mismatch = findProblem(text);
      if (mismatch !== undefined) return mismatch;
      const value = attempt(() => parse(text));
      return value instanceof ParseError ? value.reason : undefined;
    },
  };
}

/** Creates a format of comma-separated texts of another format. */
function listed({ pattern, findProblem }: ParameterFormat): ParameterFormat {
  const item = pattern.slice(1, -1);
  return {
    pattern: `^${item}(?:,${item})*$`,
    findProblem(text) {
      for (const each of text.split(',')) {
        const problem = findProblem(each);
        if (problem !== undefined) return `${problem}: ${JSON.stringify(each.slice(0, MAX_SHOWN_LENGTH))}`;
      }
      return undefined;
    },
  };
}

function parseAnyId(text: string): unknown {
  return parseHexOrCb58Id(text, 'ID');
}

/** Checks the checksum of a bech32 address; hex has none. @throws {ParseError} */
function parseAddress(text: string): void {
  if (text.startsWith('0x')) return;
  if (bech32.decodeUnsafe(text.replace(/^[PX]-/, '')) === undefined) {
    throw new ParseError('address', 'has a wrong checksum');
  }
}
