import { bytesToHex } from '../lib/encoding/bytes.ts';
import { conversionID } from '../warp/conversion-data.ts';
import { idBytes, P_CHAIN_ID, type TxID, type ValidationID } from '../warp/ids.ts';
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
  const conversion = hex(idBytes(subnetID));
  const conversionIndex = hex(encodeJustification({ kind: 'SubnetIDIndex', subnetID, index: story.removed.index }));
  const registration = encodeL1Message(story.removedRegistration);
  const registrationMessage = hex(encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: registration }));
  const twoThirds = { quorumPercentage: 67 };

  /** A message of the P-Chain that the L1 signs. */
  const ofPChain = (name: string, message: L1Message, justification?: string): NamedRequest => ({
    name: `P-Chain: ${name}`,
    body: {
      message: hexOf(createPlatformMessage(model.networkID, message)),
      ...(justification !== undefined && { justification }),
      signingSubnetId: subnetID,
    },
  });
  const removalOf = (validationID: ValidationID): L1Message => ({
    ...{ kind: 'L1ValidatorRegistration', registered: false, validationID },
  });
  const byJustification = (name: string, justification: string): NamedRequest => ({
    ...{ name: `by justification: ${name}`, body: { justification } },
  });
  const byTransaction = (
    height: bigint,
    name: 'ConvertSubnetToL1Tx' | 'RegisterL1ValidatorTx' | 'SetL1ValidatorWeightTx',
    effect = '',
  ): NamedRequest => ({ name: `by transaction: ${name}${effect}`, txID: ledger.transactionAt(height, name).id });

  return [
    { name: 'C-Chain message', body: { message: hexOf(cMessage), ...twoThirds } },
    {
      name: 'C-Chain message with a buffer',
      body: { message: hexOf(cMessage), ...twoThirds, quorumPercentageBuffer: 13 },
    },
    { name: 'C-Chain message signed by all', body: { message: hexOf(cMessage), quorumPercentage: 100 } },
    { name: 'C-Chain block hash', body: { message: hexOf(block), ...twoThirds } },
    { name: 'L1 message', body: { message: hexOf(l1Message), ...twoThirds } },
    {
      name: 'L1 message at an older P-Chain height',
      body: { message: hexOf(l1Message), ...twoThirds, pChainHeight: Number(l1.olderHeight) },
    },
    { name: 'C-Chain message signed by the L1', body: { message: hexOf(cMessage), signingSubnetId: subnetID } },
    ofPChain(
      'conversion of the L1',
      { kind: 'SubnetToL1Conversion', conversionID: conversionID(l1.conversion) },
      conversion,
    ),
    ofPChain('registration of an L1 validator', {
      ...{ kind: 'L1ValidatorRegistration', validationID: story.registered, registered: true },
    }),
    ofPChain('removal of an L1 validator of the conversion', removalOf(story.removed.validationID), conversionIndex),
    ofPChain(
      'removal of a registered L1 validator',
      removalOf(registrationValidationID(story.removedRegistration)),
      registrationMessage,
    ),
    ofPChain('weight of an L1 validator', { kind: 'L1ValidatorWeight', ...story.weightChange }),
    {
      name: "L1 message at the height of the C-Chain's epoch",
      body: { message: hexOf(l1Message), ...twoThirds, destinationBlockchainId: cChain.blockchainID },
    },
    byJustification('conversion of the L1', conversion),
    byJustification('removal of an L1 validator of the conversion', conversionIndex),
    byJustification('expired registration of an L1 validator', hex(encodeL1Message(story.expiredRegistration))),
    byTransaction(heights.conversion, 'ConvertSubnetToL1Tx'),
    byTransaction(heights.registration, 'RegisterL1ValidatorTx'),
    byTransaction(heights.weightChange, 'SetL1ValidatorWeightTx'),
    byTransaction(heights.removal, 'SetL1ValidatorWeightTx', ' that removes a validator of the conversion'),
    byTransaction(heights.registeredRemoval, 'SetL1ValidatorWeightTx', ' that removes a registered validator'),
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

function hexOf({ bytes }: UnsignedMessage): string {
  return hex(bytes);
}

function hex(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`;
}
