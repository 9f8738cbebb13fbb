import { bech32 } from '@scure/base';
import { parseHexOrCb58Id, parseNodeID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';

/** Says what is wrong with a text, in words that go after the parameter's name; undefined where nothing is. */
type FormatCheck = (text: string) => string | undefined;

/** The formats that parameters' schemas name, each with its check. */
export const PARAMETER_FORMATS: Readonly<Record<string, FormatCheck>> = {
  'primary-network-id': parsedBy((text) => parseHexOrCb58Id(text, 'ID')),
  'evm-chain-id': (text) =>
    /^[1-9]\d{0,18}$/.test(text) || isParsed(() => parseHexOrCb58Id(text, 'ID'))
      ? undefined
      : 'must be the number of an EVM chain or the ID of a blockchain',
  'evm-address': matching(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits'),
  'evm-hash': matching(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits'),
  'evm-block-id': matching(
    /^(0x[0-9a-fA-F]{64}|0|[1-9]\d{0,18})$/,
    'must be the number of a block, or its hash of 0x and 64 hex digits',
  ),
  // 2^256 has 78 digits.
  'token-id': matching(/^(0x[0-9a-fA-F]{1,64}|\d{1,78})$/, 'must be a number of up to 256 bits'),
  'node-id': parsedBy(parseNodeID),
  'node-id-list': listed(parsedBy(parseNodeID)),
  // The validators' filter takes any part of a NodeID.
  'node-id-part-list': listed(matching(/^[A-Za-z0-9-]{1,64}$/, 'must hold NodeIDs or parts of them')),
  'address-list': listed(findAddressProblem),
  'transaction-type': matching(/^[A-Za-z0-9]{1,64}Tx$/, 'must be a transaction type such as AddValidatorTx'),
  'delegation-capacity': (text) =>
    /^(0|[1-9]\d{0,17})$/.test(text) && BigInt(text) <= MAX_DELEGATION_CAPACITY
      ? undefined
      : `must be an integer from 0 to ${MAX_DELEGATION_CAPACITY}`,
};

/** Every unit of the native token there can be: 720 million, with nine digits after the point. */
const MAX_DELEGATION_CAPACITY = 720_000_000_000_000_000n;

/** Which human-readable part bech32 addresses of a network have; `testnet` is an old name of fuji. */
const ADDRESS_PREFIXES = { mainnet: 'avax', fuji: 'fuji', testnet: 'fuji' } as const;
export type PathNetwork = keyof typeof ADDRESS_PREFIXES;
export const PATH_NETWORKS = Object.keys(ADDRESS_PREFIXES) as PathNetwork[];

/** What is wrong with a list of addresses that are all well-formed: one of another network. */
export function findForeignAddress(list: string, network: PathNetwork): string | undefined {
  const prefix = ADDRESS_PREFIXES[network];
  const foreign = list
    .split(',')
    .find((address) => !address.startsWith('0x') && !address.replace(/^[PX]-/, '').startsWith(`${prefix}1`));
  return foreign === undefined ? undefined : `must be addresses of ${network}, which start with ${prefix}1`;
}

const MAX_BECH32_LENGTH = 90;
const ADDRESS_LENGTH = 20;
const KNOWN_PREFIXES: readonly string[] = Object.values(ADDRESS_PREFIXES);

/** `avax1…` or `fuji1…`, with `P-` or `X-` before it or not; or an EVM address, for atomic transactions of the C-Chain. */
function findAddressProblem(text: string): string | undefined {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined;
  const decoded = bech32.decodeUnsafe(text.replace(/^[PX]-/, ''), MAX_BECH32_LENGTH);
  const bytes = decoded && bech32.fromWordsUnsafe(decoded.words);
  const isAddress = bytes instanceof Uint8Array && bytes.length === ADDRESS_LENGTH;
  if (isAddress && KNOWN_PREFIXES.includes(decoded?.prefix ?? '')) return undefined;
  return `must be addresses such as P-avax1…, X-fuji1… or 0x…, with commas between; ${JSON.stringify(text.slice(0, MAX_BECH32_LENGTH))} is none`;
}

function matching(pattern: RegExp, problem: string): FormatCheck {
  return (text) => (pattern.test(text) ? undefined : problem);
}

function listed(check: FormatCheck): FormatCheck {
  return (text) => {
    for (const item of text.split(',')) {
      const problem = check(item);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

function parsedBy(parse: (text: string) => unknown): FormatCheck {
  return (text) => {
    try {
      parse(text);
      return undefined;
    } catch (error) {
      if (error instanceof ParseError) return error.reason;
      throw error;
    }
  };
}

function isParsed(parse: () => unknown): boolean {
  return parsedBy(parse)('') === undefined;
}
