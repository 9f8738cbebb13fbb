import type { Static } from 'typebox';
import type { AggregationBody } from '../../../api/aggregation/parse-aggregation-request.ts';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { PastedInput } from '../input/pasted-input.ts';
import { hexOfId } from '../ui/hex.ts';
import type { SignRequest } from './snippets.ts';

/** Options of a request beside the message. Texts are as typed. */
export interface SignOptions extends Destination {
  readonly buffer: number;
  readonly justification: string;
  /** Kind of pasted 32 bytes: the bytes alone do not show it. */
  readonly idIs: 'transaction' | 'subnet';
  /** Chain of an EVM transaction; empty if the service has to find it. */
  readonly chain: string;
  /** Index of the chosen log, of an EVM transaction with several messages. */
  readonly logIndex: string;
}

/** For whom a message is signed or verified. Each text may be empty. */
export interface Destination {
  /** The chain that verifies it, whose rule, quorum and epoch apply. */
  readonly destinationBlockchainId: string;
  /** In place of the height of the destination's epoch, or of the proposed one. */
  readonly pChainHeight: string;
  readonly signingSubnetId: string;
  /** In percent; undefined for the destination's, or 67. */
  readonly quorum: number | undefined;
}

export const DEFAULT_OPTIONS: SignOptions = {
  quorum: undefined,
  buffer: 0,
  signingSubnetId: '',
  destinationBlockchainId: '',
  pChainHeight: '',
  justification: '',
  idIs: 'transaction',
  chain: '',
  logIndex: '',
};

/** The request, or why there is none yet; `why` is undefined while nothing was pasted. */
type Decision = { readonly request: SignRequest } | { readonly why: string | undefined };

export function decideRequest(
  pasted: PastedInput,
  reading: DecodedReading | undefined,
  options: SignOptions,
): Decision {
  if (pasted.kind !== 'empty' && !isHeight(options)) return { why: 'The P-Chain height is no whole number.' };
  switch (pasted.kind) {
    case 'empty':
      return { why: undefined };
    case 'unreadable':
      return { why: pasted.reason };
    case 'id':
      return options.idIs === 'subnet'
        ? decideSubnet(pasted.id, options)
        : { request: { kind: 'transaction', txHash: pasted.id, query: queryOf(options) } };
    case 'bytes':
      return decideBytes(pasted.hex, reading, options);
  }
}

function queryOf(options: SignOptions) {
  const chain = options.chain.trim();
  return {
    ...signersOf(options),
    ...bufferOf(options),
    ...(chain !== '' && { blockchainId: chain }),
    ...(options.logIndex !== '' && { logIndex: options.logIndex }),
  };
}

/** The destination that a Teleporter message names. */
export function teleporterDestination(reading: DecodedReading | undefined): string | undefined {
  const payload = reading !== undefined && 'payload' in reading ? reading.payload : undefined;
  const content = payload?.kind === 'AddressedCall' ? payload.content : undefined;
  return content?.kind === 'TeleporterMessage' ? content.destinationBlockchainId : undefined;
}

/** A height may be left out. */
export function isHeight({ pChainHeight }: Destination): boolean {
  return /^\d*$/.test(pChainHeight.trim());
}

/** The fields that all requests share. */
export function signersOf({ quorum, ...typed }: Destination) {
  const signingSubnetId = typed.signingSubnetId.trim();
  const pChainHeight = typed.pChainHeight.trim();
  const destinationBlockchainId = typed.destinationBlockchainId.trim();
  return {
    ...(quorum !== undefined && { quorumPercentage: quorum }),
    ...(signingSubnetId !== '' && { signingSubnetId }),
    ...(pChainHeight !== '' && { pChainHeight: Number(pChainHeight) }),
    ...(destinationBlockchainId !== '' && { destinationBlockchainId }),
  };
}

function bufferOf({ buffer }: SignOptions) {
  return buffer > 0 ? { quorumPercentageBuffer: buffer } : {};
}

/** The API takes a subnet ID as a justification, in hex. */
function decideSubnet(id: string, options: SignOptions): Decision {
  const justification = hexOfId(id);
  return justification === undefined
    ? { why: 'This is no ID of a subnet: one has 32 bytes.' }
    : bodyOf({ justification }, options);
}

function decideBytes(hex: string, reading: DecodedReading | undefined, options: SignOptions): Decision {
  if (reading === undefined) return { why: undefined };
  const isRegistration = reading.as === 'content' && reading.content.kind === 'RegisterL1Validator';
  if (reading.as === 'justification' || isRegistration) return bodyOf({ justification: `0x${hex}` }, options);
  if (reading.as === 'unsignedMessage') return bodyOf({ message: `0x${hex}` }, options);
  if (reading.as === 'signedMessage') return bodyOf({ message: `0x${reading.unsignedMessage}` }, options);
  return {
    why: 'This is a payload alone. Validators sign the message around it, which names the network and the source chain.',
  };
}

function bodyOf(subject: { message: string } | { justification: string }, options: SignOptions): Decision {
  const justification = options.justification.trim();
  const body = {
    ...subject,
    ...('message' in subject && justification !== '' && { justification }),
    ...signersOf(options),
    ...bufferOf(options),
  };
  return { request: { kind: 'body', body } };
}

/** Options of a pasted request. What it leaves out has its default. */
export function optionsOfBody(body: Static<typeof AggregationBody>): SignOptions {
  return {
    ...DEFAULT_OPTIONS,
    quorum: body.quorumPercentage,
    buffer: body.quorumPercentageBuffer ?? 0,
    signingSubnetId: body.signingSubnetId ?? '',
    justification: body.justification ?? '',
    pChainHeight: body.pChainHeight ? String(body.pChainHeight) : '',
    destinationBlockchainId: body.destinationBlockchainId ?? '',
  };
}
