import { P_CHAIN_ID } from '../../warp/ids.ts';
import { MAINNET } from '../../warp/networks.ts';
import type { AggregationExamples } from './example-request.ts';
import { type Document, type Operation, operationsOf } from './openapi-shape.ts';

/** Values for required parameters, by name. All of them exist on mainnet: its first validator, USDC, a block. */
const PARAMETERS: Readonly<Record<string, unknown>> = {
  // The ID of the primary network is that of the P-Chain.
  subnetId: P_CHAIN_ID,
  chain: 'P',
  chainId: MAINNET.evmChainID,
  tokenId: '145',
  vertexHeight: 123,
  address: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
  blockId: '0x17533aeb5193378b9ff441d61728e7a2ebaf10f61fd5310759451627dfca2e7c',
  addresses: 'avax1yu8wlxfdkj8mnca60jwwzvfyqzd6xlnf635tld',
  nodeId: 'NodeID-A6onFGyJjA37EZ7kYHANMR1PFRT8NmXrF',
  // Of the feed, which reads chains of the served network.
  messageId: MAINNET.cChainID,
  fromBlock: 1,
  toBlock: 1,
  // The x-request-id of a request.
  id: '85a4c82e-cde9-4236-bf8e-7b0b693e4795',
};
/** Transaction hashes by operation: EVM chains and the primary network encode them differently. */
const TRANSACTIONS: Readonly<Record<string, string>> = {
  getPrimaryNetworkTransaction: MAINNET.cChainID,
  getEvmTransaction: '0x8bf584d7b14b92a32a339872a66b134a70ba3ba7c305823f348db6f860253f45',
};
/** Tags of operations that take the name of a served network. */
const TAGS_OF_SERVED_NETWORKS = ['Signature aggregation', 'Go aggregator', 'Health'];

/** Fills in a request for each operation, so that it can be sent unchanged. */
export function addExamples(document: Document, examples: AggregationExamples | undefined): void {
  for (const operation of operationsOf(document)) {
    for (const parameter of operation.parameters ?? []) {
      if (parameter.required !== true || parameter.name === undefined) continue;
      const transaction = parameter.name === 'txHash' ? TRANSACTIONS[operation.operationId ?? ''] : undefined;
      const example = transaction ?? PARAMETERS[parameter.name];
      if (example !== undefined) parameter.example = example;
      // Others name the X-Chain alone.
      const isWatched =
        ['replayMessages', 'forgetChain'].includes(operation.operationId ?? '') && parameter.name === 'blockchainId';
      if (isWatched) parameter.example = MAINNET.cChainID;
    }
    if (examples !== undefined) addServedExamples(operation, examples);
  }
}

function addServedExamples(operation: Operation, examples: AggregationExamples): void {
  const { network, requests, transactions, validationId, l1 } = examples;
  const { operationId, tags: [tag = ''] = [], parameters = [], requestBody } = operation;
  if (!TAGS_OF_SERVED_NETWORKS.includes(tag)) return;
  for (const parameter of parameters) {
    if (parameter.name === 'network') parameter.example = network;
    if (operationId === 'getDestination' && parameter.name === 'blockchainId') parameter.example = P_CHAIN_ID;
    if (parameter.name === 'txHash' && transactions.length > 0) parameter.examples = named(transactions);
    if (parameter.name === 'validationId' && validationId !== undefined) parameter.example = validationId;
    if (operationId === 'listUptimes' && parameter.name === 'subnetId' && l1 !== undefined) parameter.example = l1;
  }
  const body = requestBody?.content?.['application/json'];
  if (body === undefined) return;
  if (operationId === 'aggregateSignatures') body.examples = named(requests);
  else if (tag === 'Go aggregator') body.examples = named(requests.flatMap(toGoRequest));
}

/** Spells the fields as the Go aggregator does; returns nothing for a request that it cannot express. */
function toGoRequest({ name, value }: AggregationExamples['requests'][number]) {
  if (value.message === undefined || value.destinationBlockchainId !== undefined) return [];
  const fields = Object.entries(value).map(([field, given]) => [
    field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    given,
  ]);
  return [{ name, value: Object.fromEntries(fields) as object }];
}

function named(examples: readonly { readonly name: string; readonly value: unknown }[]): Record<string, object> {
  return Object.fromEntries(examples.map(({ name, value }, at) => [`example${at + 1}`, { summary: name, value }]));
}
