import { prefixedHex } from '../lib/encoding/bytes.ts';
import { conversionID } from '../warp/conversion-data.ts';
import { type BlockchainID, idBytes, P_CHAIN_ID, type ValidationID } from '../warp/ids.ts';
import { encodeJustification } from '../warp/justification.ts';
import { encodeL1Message, type L1Message, registrationValidationID } from '../warp/l1-message.ts';
import { encodeWarpPayload } from '../warp/payload.ts';
import { encodeTeleporterMessage, type TeleporterMessage } from '../warp/teleporter-message.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../warp/unsigned-message.ts';
import type { Example } from './devnet-schemas.ts';
import type { NetworkModel } from './network-model.ts';
import { seededBytes } from './seeded-random.ts';

/**
 * Emits the messages of the examples on the chains.
 *
 * @returns a function that returns requests to the aggregator that succeed, under a name of the network
 */
export function emitExamples(model: NetworkModel, seed: number): (network: string) => Example[] {
  const { cChain, l1Chain, strictChain, l1, ledger } = model;
  const cMessage = prefixedHex(cChain.emit(Buffer.from('hello from the C-Chain')).bytes);
  const block = prefixedHex(cChain.acceptBlock(seededBytes(seed, 'C-Chain block', 32)).bytes);
  const l1Message = prefixedHex(l1Chain.emit(Buffer.from('hello from the L1')).bytes);
  const cTransaction = cChain.transact([Buffer.from('hello from a transaction')]);
  const l1Transaction = l1Chain.transact([Buffer.from('hello from a transaction of the L1')]);
  const two = cChain.transact([Buffer.from('the first message'), Buffer.from('the second message')]);
  const teleporter = cChain.transact([encodeTeleporterMessage(teleporterTo(l1.blockchainID))]);
  const { story, heights, subnetID } = l1;
  const conversion = prefixedHex(idBytes(subnetID));
  const conversionIndex = prefixedHex(
    encodeJustification({ kind: 'SubnetIDIndex', subnetID, index: story.removed.index }),
  );
  const registration = encodeL1Message(story.removedRegistration);
  const registrationMessage = prefixedHex(
    encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: registration }),
  );
  const twoThirds = { quorumPercentage: 67 };

  const post = (name: string, body: NonNullable<Example['body']>): Example => ({
    name,
    method: 'POST',
    path: '',
    body,
  });
  const get = (name: string, transaction: string): Example => ({ name, method: 'GET', path: `/${transaction}` });
  /** A message of the P-Chain that the L1 signs. */
  const ofPChain = (name: string, message: L1Message, justification?: string): Example =>
    post(`P-Chain: ${name}`, {
      message: prefixedHex(createPlatformMessage(model.networkID, message).bytes),
      ...(justification !== undefined && { justification }),
      signingSubnetId: subnetID,
    });
  const removalOf = (validationID: ValidationID): L1Message => ({
    kind: 'L1ValidatorRegistration',
    registered: false,
    validationID,
  });
  const byJustification = (name: string, justification: string): Example =>
    post(`by justification: ${name}`, { justification });
  const byTransaction = (height: bigint, effect = ''): Example => {
    const { id, name } = ledger.transactionAt(height);
    return get(`by transaction: ${name}${effect}`, id);
  };

  const examples = [
    post('C-Chain message', { message: cMessage, ...twoThirds }),
    post('C-Chain message with a buffer', { message: cMessage, ...twoThirds, quorumPercentageBuffer: 13 }),
    post('C-Chain message signed by all', { message: cMessage, quorumPercentage: 100 }),
    post('C-Chain block hash', { message: block, ...twoThirds }),
    post('L1 message', { message: l1Message, ...twoThirds }),
    post('L1 message at an older P-Chain height', {
      message: l1Message,
      ...twoThirds,
      pChainHeight: Number(l1.olderHeight),
    }),
    post('C-Chain message signed by the L1', { message: cMessage, signingSubnetId: subnetID }),
    ofPChain(
      'conversion of the L1',
      { kind: 'SubnetToL1Conversion', conversionID: conversionID(l1.conversion) },
      conversion,
    ),
    ofPChain('registration of an L1 validator', {
      kind: 'L1ValidatorRegistration',
      validationID: story.registered,
      registered: true,
    }),
    ofPChain('removal of an L1 validator of the conversion', removalOf(story.removed.validationID), conversionIndex),
    ofPChain(
      'removal of a registered L1 validator',
      removalOf(registrationValidationID(story.removedRegistration)),
      registrationMessage,
    ),
    ofPChain('weight of an L1 validator', { kind: 'L1ValidatorWeight', ...story.weightChange }),
    post("L1 message at the height of the C-Chain's epoch", {
      message: l1Message,
      ...twoThirds,
      destinationBlockchainId: cChain.blockchainID,
    }),
    post('C-Chain message for the L1', { message: cMessage, destinationBlockchainId: l1.blockchainID }),
    post('C-Chain message for a chain that requires signers of the primary network', {
      message: cMessage,
      destinationBlockchainId: strictChain.blockchainID,
    }),
    post('P-Chain message for the L1', {
      message: prefixedHex(
        createPlatformMessage(model.networkID, {
          kind: 'L1ValidatorRegistration',
          validationID: story.registered,
          registered: true,
        }).bytes,
      ),
      destinationBlockchainId: l1.blockchainID,
    }),
    byJustification('conversion of the L1', conversion),
    byJustification('removal of an L1 validator of the conversion', conversionIndex),
    byJustification('expired registration of an L1 validator', prefixedHex(encodeL1Message(story.expiredRegistration))),
    byTransaction(heights.conversion),
    byTransaction(heights.registration),
    byTransaction(heights.weightChange),
    byTransaction(heights.removal, ' that removes a validator of the conversion'),
    byTransaction(heights.registeredRemoval, ' that removes a registered validator'),
    get('by EVM transaction: C-Chain', cTransaction.hash),
    get('by EVM transaction: L1', `${l1Transaction.hash}?blockchainId=${l1.blockchainID}`),
    get('by EVM transaction: Teleporter message for the L1', teleporter.hash),
    get('by EVM transaction: one of two messages', `${two.hash}?blockchainId=C&logIndex=1`),
  ];
  return (network) =>
    examples.map((example) => {
      return { ...example, path: `/v1/signatureAggregator/${network}/aggregateSignatures${example.path}` };
    });
}

function teleporterTo(destinationBlockchainID: BlockchainID): TeleporterMessage {
  return {
    kind: 'TeleporterMessage',
    messageNonce: 1n,
    originSenderAddress: new Uint8Array(20).fill(1),
    destinationBlockchainID,
    destinationAddress: new Uint8Array(20).fill(2),
    requiredGasLimit: 100_000n,
    allowedRelayerAddresses: [],
    receipts: [],
    message: Buffer.from('hello from Teleporter'),
  };
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
