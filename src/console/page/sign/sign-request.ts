import type { Static } from 'typebox';
import type { AggregationBody } from '../../../api/aggregation/parse-aggregation-request.ts';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { PastedInput } from '../input/pasted-input.ts';
import { hexOfId } from '../ui/hex.ts';
import type { SignRequest } from './snippets.ts';

/** What is chosen beside the message. Texts are as typed. */
export interface SignOptions extends ValidatorsAt {
  /** In percent; undefined if the request names none. */
  readonly quorum: number | undefined;
  readonly buffer: number;
  readonly signingSubnetId: string;
  readonly justification: string;
  /** What pasted 32 bytes are, since they do not tell. */
  readonly idIs: 'transaction' | 'subnet';
  /** Chain of an EVM transaction; empty if the service has to find it. */
  readonly chain: string;
  /** Index of the chosen log, of an EVM transaction with several messages. */
  readonly logIndex: string;
}

/** Which validators sign: those of now, of the epoch of a chain, or of a height. */
export interface ValidatorsAt {
  readonly at: 'now' | 'destination' | 'height';
  readonly destinationBlockchainId: string;
  readonly pChainHeight: string;
}

export const DEFAULT_OPTIONS: SignOptions = {
  quorum: undefined,
  buffer: 0,
  signingSubnetId: '',
  at: 'now',
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
    ...(chain !== '' && { blockchainId: chain }),
    ...(options.logIndex !== '' && { logIndex: options.logIndex }),
  };
}

/** The fields that a POST and a GET share. */
function signersOf({ quorum, buffer, at, ...typed }: SignOptions) {
  const signingSubnetId = typed.signingSubnetId.trim();
  const pChainHeight = typed.pChainHeight.trim();
  const destinationBlockchainId = typed.destinationBlockchainId.trim();
  return {
    ...(quorum !== undefined && { quorumPercentage: quorum }),
    ...(buffer > 0 && { quorumPercentageBuffer: buffer }),
    ...(signingSubnetId !== '' && { signingSubnetId }),
    ...(at === 'height' && pChainHeight !== '' && { pChainHeight: Number(pChainHeight) }),
    ...(at === 'destination' && destinationBlockchainId !== '' && { destinationBlockchainId }),
  };
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
    ...(body.pChainHeight !== undefined &&
      body.pChainHeight > 0 && { at: 'height' as const, pChainHeight: String(body.pChainHeight) }),
    ...(body.destinationBlockchainId !== undefined && {
      at: 'destination' as const,
      destinationBlockchainId: body.destinationBlockchainId,
    }),
  };
}
