import { bytesToHex } from '../lib/encoding/bytes.ts';
import { conversionID } from '../warp/conversion-data.ts';
import { idBytes, P_CHAIN_ID, type TxID } from '../warp/ids.ts';
import { encodeJustification } from '../warp/justification.ts';
import { encodeL1Message, type L1Message, registrationValidationID } from '../warp/l1-message.ts';
import { encodeWarpPayload } from '../warp/payload.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../warp/unsigned-message.ts';
import type { Example } from './devnet-schemas.ts';
import type { NetworkModel } from './network-model.ts';
import { seededBytes } from './seeded-random.ts';

/** What an example asks for: the body of a POST, or the transaction of a GET. */
type NamedRequest = { readonly name: string } & (
  | { readonly body: NonNullable<Example['body']> }
  | { readonly txID: TxID | string; readonly query?: string }
);

/** Has the chains emit what the examples are about: once for a network, whatever the path's `{network}` is later. */
export function emitExamples(model: NetworkModel, seed: number): readonly NamedRequest[] {
  const { cChain, l1Chain, l1, ledger } = model;
  const cMessage = cChain.emit(Buffer.from('hello from the C-Chain'));
  const block = cChain.acceptBlock(seededBytes(seed, 'C-Chain block', 32));
  const l1Message = l1Chain.emit(Buffer.from('hello from the L1'));
  const cTransaction = cChain.transact([Buffer.from('hello from a transaction')]);
  const l1Transaction = l1Chain.transact([Buffer.from('hello from a transaction of the L1')]);
  const two = cChain.transact([Buffer.from('the first message'), Buffer.from('the second message')]);
  const { story, heights, subnetID } = l1;
  const fromPlatform = (message: L1Message): UnsignedMessage => createPlatformMessage(model.networkID, message);
  const signedByL1 = { signingSubnetId: subnetID };
  const removal = { kind: 'L1ValidatorRegistration', registered: false } as const;

  return [
    { name: 'C-Chain message', body: { message: hex(cMessage), quorumPercentage: 67 } },
    {
      name: 'C-Chain message with a buffer',
      body: { message: hex(cMessage), quorumPercentage: 67, quorumPercentageBuffer: 13 },
    },
    { name: 'C-Chain message signed by all', body: { message: hex(cMessage), quorumPercentage: 100 } },
    { name: 'C-Chain block hash', body: { message: hex(block), quorumPercentage: 67 } },
    { name: 'L1 message', body: { message: hex(l1Message), quorumPercentage: 67 } },
    {
      name: 'L1 message at an older P-Chain height',
      body: { message: hex(l1Message), quorumPercentage: 67, pChainHeight: Number(l1.olderHeight) },
    },
    { name: 'C-Chain message signed by the L1', body: { message: hex(cMessage), ...signedByL1 } },
    {
      name: 'P-Chain: conversion of the L1',
      body: {
        message: hex(fromPlatform({ kind: 'SubnetToL1Conversion', conversionID: conversionID(l1.conversion) })),
        justification: `0x${bytesToHex(idBytes(subnetID))}`,
        ...signedByL1,
      },
    },
    {
      name: 'P-Chain: registration of an L1 validator',
      body: {
        message: hex(
          fromPlatform({ kind: 'L1ValidatorRegistration', validationID: story.registered, registered: true }),
        ),
        ...signedByL1,
      },
    },
    {
      name: 'P-Chain: removal of an L1 validator of the conversion',
      body: {
        message: hex(fromPlatform({ ...removal, validationID: story.removed.validationID })),
        justification: justificationHex({ kind: 'SubnetIDIndex', subnetID, index: story.removed.index }),
        ...signedByL1,
      },
    },
    {
      name: 'P-Chain: removal of a registered L1 validator',
      body: {
        message: hex(fromPlatform({ ...removal, validationID: registrationValidationID(story.removedRegistration) })),
        justification: justificationHex({
          kind: 'RegisterL1ValidatorMessage',
          message: encodeL1Message(story.removedRegistration),
        }),
        ...signedByL1,
      },
    },
    {
      name: 'P-Chain: weight of an L1 validator',
      body: { message: hex(fromPlatform({ kind: 'L1ValidatorWeight', ...story.weightChange })), ...signedByL1 },
    },
    {
      name: "L1 message at the height of the C-Chain's epoch",
      body: { message: hex(l1Message), quorumPercentage: 67, destinationBlockchainId: cChain.blockchainID },
    },
    { name: 'by justification: conversion of the L1', body: { justification: `0x${bytesToHex(idBytes(subnetID))}` } },
    {
      name: 'by justification: removal of an L1 validator of the conversion',
      body: { justification: justificationHex({ kind: 'SubnetIDIndex', subnetID, index: story.removed.index }) },
    },
    {
      name: 'by justification: expired registration of an L1 validator',
      body: { justification: `0x${bytesToHex(encodeL1Message(story.expiredRegistration))}` },
    },
    {
      name: 'by transaction: ConvertSubnetToL1Tx',
      txID: ledger.transactionAt(heights.conversion, 'ConvertSubnetToL1Tx').id,
    },
    {
      name: 'by transaction: RegisterL1ValidatorTx',
      txID: ledger.transactionAt(heights.registration, 'RegisterL1ValidatorTx').id,
    },
    {
      name: 'by transaction: SetL1ValidatorWeightTx',
      txID: ledger.transactionAt(heights.weightChange, 'SetL1ValidatorWeightTx').id,
    },
    {
      name: 'by transaction: SetL1ValidatorWeightTx that removes a validator of the conversion',
      txID: ledger.transactionAt(heights.removal, 'SetL1ValidatorWeightTx').id,
    },
    {
      name: 'by transaction: SetL1ValidatorWeightTx that removes a registered validator',
      txID: ledger.transactionAt(heights.registeredRemoval, 'SetL1ValidatorWeightTx').id,
    },
    { name: 'by EVM transaction: C-Chain', txID: cTransaction.hash },
    { name: 'by EVM transaction: L1', txID: l1Transaction.hash, query: `?blockchainId=${l1.blockchainID}` },
    { name: 'by EVM transaction: one of two messages', txID: two.hash, query: '?blockchainId=C&logIndex=1' },
  ];
}

/** A message of the P-Chain to an L1: an addressed call without a source. Whether the P-Chain would sign it is not checked. */
function createPlatformMessage(networkID: number, message: L1Message): UnsignedMessage {
  const call = encodeWarpPayload({
    kind: 'AddressedCall',
    sourceAddress: new Uint8Array(),
    payload: encodeL1Message(message),
  });
  return createUnsignedMessage(networkID, P_CHAIN_ID, call);
}

export function createExamples(requests: readonly NamedRequest[], network: string): Example[] {
  const path = `/v1/signatureAggregator/${network}/aggregateSignatures`;
  return requests.map((request): Example => {
    if ('body' in request) return { name: request.name, method: 'POST', path, body: request.body };
    return { name: request.name, method: 'GET', path: `${path}/${request.txID}${request.query ?? ''}` };
  });
}

function hex({ bytes }: UnsignedMessage): string {
  return `0x${bytesToHex(bytes)}`;
}

function justificationHex(justification: Parameters<typeof encodeJustification>[0]): string {
  return `0x${bytesToHex(encodeJustification(justification))}`;
}
