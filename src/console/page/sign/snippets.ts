import type { Static } from 'typebox';
import type { AggregationBody, TransactionQuery } from '../../../api/aggregation/parse-aggregation-request.ts';

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
