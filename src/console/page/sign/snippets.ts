import type { Static } from 'typebox';
import type { AggregationBody, TransactionQuery } from '../../../api/aggregation/parse-aggregation-request.ts';
import { withoutPrefix } from '../ui/hex.ts';

/** The longest time for which the service waits for a transaction. */
export const MAX_WAIT_SECONDS = 30;

/** A request for a signature: the body of a POST, or a transaction of the P-Chain or of an EVM chain. */
export type SignRequest =
  | { readonly kind: 'body'; readonly body: Static<typeof AggregationBody> }
  | {
      readonly kind: 'transaction';
      readonly txHash: string;
      readonly query: Static<typeof TransactionQuery>;
    };

export interface CallPlace {
  /** URL of the service without a slash at the end. */
  readonly origin: string;
  readonly network: string;
  readonly hasKey: boolean;
}

function pathOf(request: SignRequest, network: string): string {
  const path = `/v1/signatureAggregator/${encodeURIComponent(network)}/aggregateSignatures`;
  if (request.kind === 'body') return path;
  const parameters = Object.entries(request.query).map(([name, value]) => [name, String(value)]);
  const query = new URLSearchParams(parameters).toString();
  return `${path}/${encodeURIComponent(request.txHash)}${query === '' ? '' : `?${query}`}`;
}

/** The key is a variable, because people show such lines to others. */
export function curlOf(request: SignRequest, { origin, network, hasKey }: CallPlace): string {
  const url = `'${origin}${pathOf(request, network)}'`;
  const key = hasKey ? ' \\\n  -H \'x-service-api-key: \'"$API_KEY"' : '';
  if (request.kind === 'transaction') return `curl -s ${url}${key}`;
  return `curl -s ${url}${key} \\\n  -H 'content-type: application/json' \\\n  -d '${quoted(JSON.stringify(request.body))}'`;
}

export function sdkOf(request: SignRequest, { origin, network, hasKey }: CallPlace): string {
  const named = network === 'mainnet' || network === 'fuji' ? network : 'fuji';
  const key = hasKey ? ', apiKey: process.env.API_KEY' : '';
  const call =
    request.kind === 'body'
      ? `aggregate(\n  { signatureAggregatorRequest: ${indent(JSON.stringify(request.body, null, 2))} },\n`
      : `get(\n  { txHash: ${JSON.stringify(request.txHash)} },\n`;
  return `import { Avalanche } from '@avalanche-sdk/chainkit';

const client = new Avalanche({ network: '${named}'${key}, enableTelemetry: false });
const { signedMessage } = await client.data.signatureAggregator.${call}  { serverURL: '${origin}' },
);
`;
}

/** Escapes for single quotes of a shell, so that pasted text cannot become a command. */
function quoted(text: string): string {
  return text.replaceAll("'", "'\\''");
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ').replaceAll(/^(\s*)"(\w+)":/gm, '$1$2:');
}

/** Function selectors of the precompile and of Teleporter's messenger: the first bytes of the hash of their signatures. */
export const GET_VERIFIED_WARP_MESSAGE = '6f825350';
export const RECEIVE_CROSS_CHAIN_MESSAGE = 'ccb5f809';
const WORD_DIGITS = 64;

/** Calldata for the first message of a transaction's access list. */
export function readCalldata(): string {
  return `0x${GET_VERIFIED_WARP_MESSAGE}${''.padStart(WORD_DIGITS, '0')}`;
}

/** Calldata for Teleporter's messenger: deliver the first message of the access list, and reward this address. */
export function deliverCalldata(rewardAddress: string): string {
  const address = withoutPrefix(rewardAddress).toLowerCase().padStart(WORD_DIGITS, '0');
  return `0x${RECEIVE_CROSS_CHAIN_MESSAGE}${''.padStart(WORD_DIGITS, '0')}${address}`;
}
