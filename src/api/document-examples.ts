import { P_CHAIN_ID } from '../primitives/ids.ts';
import { MAINNET } from '../primitives/networks.ts';
import { ANSWER_EXAMPLES, SIGNED_EXAMPLE } from './answer-examples.ts';
import {
  EVM_BLOCK,
  EVM_CONTRACT,
  EVM_TRANSACTION,
  MAINNET_ADDRESS,
  MAINNET_NODE,
  MAINNET_TRANSACTION,
} from './data-api-examples.ts';
import type { AggregationExamples } from './example-request.ts';
import { type Document, METHODS, type Operation } from './openapi-shape.ts';

/** Of parameters that a request cannot do without, by their name: all of it is there on mainnet. */
const PARAMETERS: Readonly<Record<string, unknown>> = {
  // The ID of the primary network is that of the P-Chain.
  ...{ subnetId: P_CHAIN_ID, chain: 'P', chainId: MAINNET.evmChainID, address: EVM_CONTRACT, blockId: EVM_BLOCK },
  ...{ addresses: MAINNET_ADDRESS, nodeId: MAINNET_NODE, tokenId: '145', vertexHeight: 123 },
};
/** Hashes of transactions have another form on EVM chains. */
const TRANSACTIONS: Readonly<Record<string, string>> = {
  getPrimaryNetworkTransaction: MAINNET_TRANSACTION,
  getEvmTransaction: EVM_TRANSACTION,
};
const BODIES: Readonly<Record<string, object>> = {
  decodeMessage: { data: SIGNED_EXAMPLE },
  verifySignedMessage: { signedMessage: SIGNED_EXAMPLE, quorumPercentage: 67 },
  callNode: { jsonrpc: '2.0', id: 1, method: 'platform.getHeight', params: {} },
};

/** Fills in what is there to try of any service, so that nobody has to look for a value before the first click. */
export function addExamples(document: Document): void {
  for (const operation of operationsOf(document)) {
    const { operationId: name = '', parameters = [], requestBody, responses } = operation;
    for (const parameter of parameters) {
      if (parameter.required !== true || parameter.name === undefined) continue;
      const example = TRANSACTIONS[parameter.name === 'txHash' ? name : ''] ?? PARAMETERS[parameter.name];
      if (example !== undefined) parameter.example = example;
    }
    const body = requestBody?.content?.['application/json'];
    if (body !== undefined && BODIES[name] !== undefined) body.example = BODIES[name];
    const answer = responses['200']?.content?.['application/json'];
    if (answer !== undefined && ANSWER_EXAMPLES[name] !== undefined) answer.example = ANSWER_EXAMPLES[name];
  }
}

/** Operations whose body is a request for signatures, in the words of this API and in those of the Go aggregator. */
const SIGNING = ['aggregateSignatures', 'goAggregateSignatures', 'goAggregateSignaturesOfNetwork'];
/** Tags whose operations are of a network that is served here. */
const OF_SERVED_NETWORKS = ['Signature aggregation', 'Go aggregator', 'Health'];

/** Fills in what is there to try of the network that is served. */
export function addServedExamples(document: Document, examples: AggregationExamples): void {
  const { network, requests, transactions, validationId } = examples;
  for (const operation of operationsOf(document)) {
    const { operationId: name = '', tags: [tag = ''] = [], parameters = [], requestBody } = operation;
    if (!OF_SERVED_NETWORKS.includes(tag)) continue;
    for (const parameter of parameters) {
      if (parameter.name === 'network') parameter.example = network;
      if (parameter.name === 'txHash' && transactions.length > 0) parameter.examples = named(transactions);
      if (parameter.name === 'validationId' && validationId !== undefined) parameter.example = validationId;
    }
    const body = requestBody?.content?.['application/json'];
    if (body === undefined) continue;
    if (name === 'aggregateSignatures') body.examples = named(requests);
    else if (SIGNING.includes(name)) body.examples = named(requests.flatMap(inGoWords));
  }
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

export function operationsOf({ paths = {} }: Document): Operation[] {
  return Object.values(paths).flatMap((operations) => METHODS.flatMap((method) => operations[method] ?? []));
}
