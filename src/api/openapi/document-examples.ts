import { P_CHAIN_ID } from '../../warp/ids.ts';
import { MAINNET } from '../../warp/networks.ts';
import type { AggregationExamples } from './example-request.ts';
import { type Document, type Operation, operationsOf } from './openapi-shape.ts';

/** The C-Chain's `hello from C 0`, signed by four of five nodes of a network of their own. */
export const SIGNED_EXAMPLE =
  '000000003039ee488204088eaba3d3c0c5e26d7a2892677f8d6181ef31848708b4e55ead7667000000300000000000010000' +
  '00148db97c7cece249c2b98bdc0226cc4c2a57bf52fc0000000e68656c6c6f2066726f6d20432030' +
  '00000000000000011db344d1157c9962b31ad2daca0f79f5dd0274f35497b0384c1aad03856b14aeb11decd1a4df419bb0ca' +
  '9b405fe23581cc13aa5f772bf6d65d12e9acd7fa2239ff64fdef6dd4eb9c87ed26bd508fdca1867a90df2dc922f724458bc3' +
  'e37e39319c';

/** Parameters that a request cannot do without, by their name. All of it exists on mainnet: its first validator, USDC, a block. */
const PARAMETERS: Readonly<Record<string, unknown>> = {
  // The ID of the primary network is that of the P-Chain.
  ...{ subnetId: P_CHAIN_ID, chain: 'P', chainId: MAINNET.evmChainID, tokenId: '145', vertexHeight: 123 },
  address: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
  blockId: '0x17533aeb5193378b9ff441d61728e7a2ebaf10f61fd5310759451627dfca2e7c',
  addresses: 'avax1yu8wlxfdkj8mnca60jwwzvfyqzd6xlnf635tld',
  nodeId: 'NodeID-A6onFGyJjA37EZ7kYHANMR1PFRT8NmXrF',
};
/** Hashes of transactions have another form on EVM chains. */
const TRANSACTIONS: Readonly<Record<string, string>> = {
  getPrimaryNetworkTransaction: MAINNET.cChainID,
  getEvmTransaction: '0x8bf584d7b14b92a32a339872a66b134a70ba3ba7c305823f348db6f860253f45',
};
const BODIES: Readonly<Record<string, object>> = {
  decodeMessage: { data: SIGNED_EXAMPLE },
  verifySignedMessage: { signedMessage: SIGNED_EXAMPLE, quorumPercentage: 67 },
  callNode: { jsonrpc: '2.0', id: 1, method: 'platform.getHeight', params: {} },
};
/** Tags whose operations are of a network that is served here. */
const OF_SERVED_NETWORKS = ['Signature aggregation', 'Go aggregator', 'Health'];

/** Fills in a request to try for each operation, so that it can be sent without looking for a value. */
export function addExamples(document: Document, examples: AggregationExamples | undefined): void {
  for (const operation of operationsOf(document)) {
    const { operationId: name = '', parameters = [], requestBody } = operation;
    for (const parameter of parameters) {
      if (parameter.required !== true || parameter.name === undefined) continue;
      const example = TRANSACTIONS[parameter.name === 'txHash' ? name : ''] ?? PARAMETERS[parameter.name];
      if (example !== undefined) parameter.example = example;
    }
    const body = requestBody?.content?.['application/json'];
    if (body !== undefined && BODIES[name] !== undefined) body.example = BODIES[name];
    if (examples !== undefined) addServedExamples(operation, examples);
  }
}

function addServedExamples(operation: Operation, examples: AggregationExamples): void {
  const { network, requests, transactions, validationId } = examples;
  const { operationId, tags: [tag = ''] = [], parameters = [], requestBody } = operation;
  if (!OF_SERVED_NETWORKS.includes(tag)) return;
  for (const parameter of parameters) {
    if (parameter.name === 'network') parameter.example = network;
    if (parameter.name === 'txHash' && transactions.length > 0) parameter.examples = named(transactions);
    if (parameter.name === 'validationId' && validationId !== undefined) parameter.example = validationId;
  }
  const body = requestBody?.content?.['application/json'];
  if (body === undefined) return;
  if (operationId === 'aggregateSignatures') body.examples = named(requests);
  else if (tag === 'Go aggregator') body.examples = named(requests.flatMap(inGoWords));
}

/** Those that the Go aggregator's API has words for. */
function inGoWords({ name, value }: AggregationExamples['requests'][number]) {
  const { message, justification, signingSubnetId, quorumPercentage, quorumPercentageBuffer, pChainHeight, ...others } =
    value;
  if (message === undefined || Object.keys(others).length > 0) return [];
  const words = {
    ...{ message, justification, 'signing-subnet-id': signingSubnetId, 'quorum-percentage': quorumPercentage },
    ...{ 'quorum-percentage-buffer': quorumPercentageBuffer, 'pchain-height': pChainHeight },
  };
  return [{ name, value: Object.fromEntries(Object.entries(words).filter(([, word]) => word !== undefined)) }];
}

/** As OpenAPI has several examples: by keys, each with its name for people. */
function named(examples: readonly { readonly name: string; readonly value: unknown }[]): Record<string, object> {
  return Object.fromEntries(examples.map(({ name, value }, at) => [`example${at + 1}`, { summary: name, value }]));
}
