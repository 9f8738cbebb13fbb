import { attempt, ParseError } from '../lib/encoding/parse-error.ts';
import { type L1ValidatorRegistrationJustification, parseJustification } from './justification.ts';
import { type L1Message, parseL1Message, type RegisterL1Validator } from './l1-message.ts';
import { type AddressedCall, type Hash, MAX_WARP_PAYLOAD_LENGTH, parseWarpPayload } from './payload.ts';
import { parseSignedMessage, type SignedMessage } from './signed-message.ts';
import { parseTeleporterMessage, type TeleporterMessage } from './teleporter-message.ts';
import { parseUnsignedMessage, type UnsignedMessage } from './unsigned-message.ts';
import { parseValidatorUptime, type ValidatorUptime } from './validator-uptime.ts';

export type Reading =
  | { readonly as: 'signedMessage'; readonly message: SignedMessage; readonly payload: ReadPayload }
  | { readonly as: 'unsignedMessage'; readonly message: UnsignedMessage; readonly payload: ReadPayload }
  | { readonly as: 'payload'; readonly payload: ReadPayload }
  | { readonly as: 'content'; readonly content: Content }
  | {
      readonly as: 'justification';
      readonly justification: L1ValidatorRegistrationJustification;
      /** The RegisterL1Validator payload in the justification. */
      readonly registration: RegisterL1Validator | undefined;
    };

export type ReadingForm = Reading['as'];

/** A Warp payload with its decoded content, if known; validators sign unknown payloads too. */
export type ReadPayload =
  | Hash
  | (AddressedCall & { readonly content: Content | undefined })
  | { readonly kind: 'unknown'; readonly bytes: Uint8Array; readonly reason: string };

/** The known payloads of addressed calls. */
export type Content = L1Message | ValidatorUptime | TeleporterMessage;

/**
 * The forms in the order of attempts. The first three are distinct, as source addresses have 20 bytes or none: with 28, an addressed call
 * has the form of an unsigned message. A bare Hash payload and a SubnetToL1Conversion have the same bytes, and short texts may be valid
 * protobuf.
 */
export const READING_FORMS: readonly ReadingForm[] = [
  'signedMessage',
  'unsignedMessage',
  'payload',
  'content',
  'justification',
];

export interface FailedReading {
  readonly as: ReadingForm;
  readonly reason: string;
}

/** Decodes the bytes in every form that fits, the likeliest first, and reports why the others fail. */
export function readWarpBytes(
  bytes: Uint8Array,
  forms: readonly ReadingForm[] = READING_FORMS,
): {
  readonly readings: readonly Reading[];
  readonly failed: readonly FailedReading[];
} {
  const readings: Reading[] = [];
  const failed: FailedReading[] = [];
  for (const form of forms) {
    const reading = attempt(() => readAs(form, bytes));
    if (reading instanceof ParseError) failed.push({ as: form, reason: reading.message });
    else readings.push(reading);
  }
  return { readings, failed };
}

export function readAs(form: ReadingForm, bytes: Uint8Array): Reading {
  switch (form) {
    case 'signedMessage': {
      const message = parseSignedMessage(bytes);
      return { as: form, message, payload: readPayload(message.unsignedMessage.payload) };
    }
    case 'unsignedMessage': {
      const message = parseUnsignedMessage(bytes);
      return { as: form, message, payload: readPayload(message.payload) };
    }
    case 'payload': {
      const payload = readPayload(bytes);
      if (payload.kind === 'unknown') throw new ParseError('Warp payload', payload.reason);
      return { as: form, payload };
    }
    case 'content': {
      const content = findContent(bytes);
      if (content === undefined) {
        throw new ParseError('content', 'is no message of the P-Chain, no validator uptime and no Teleporter message');
      }
      return { as: form, content };
    }
    case 'justification': {
      const justification = readJustification(bytes);
      const content = justification.kind === 'SubnetIDIndex' ? undefined : findContent(justification.message);
      const registration = content?.kind === 'RegisterL1Validator' ? content : undefined;
      return { as: form, justification, registration };
    }
  }
}

function readJustification(bytes: Uint8Array): L1ValidatorRegistrationJustification {
  if (bytes.length > MAX_WARP_PAYLOAD_LENGTH) {
    throw new ParseError('justification', `has ${bytes.length} bytes, at most ${MAX_WARP_PAYLOAD_LENGTH} are allowed`);
  }
  return parseJustification(bytes);
}

export function readPayload(bytes: Uint8Array): ReadPayload {
  const payload = attempt(() => parseWarpPayload(bytes));
  if (payload instanceof ParseError) return { kind: 'unknown', bytes, reason: payload.reason };
  return payload.kind === 'Hash' ? payload : { ...payload, content: findContent(payload.payload) };
}

/** Decodes a known content. Lengths and first words of the kinds differ, so at most one matches. */
function findContent(bytes: Uint8Array): Content | undefined {
  for (const parse of [parseL1Message, parseValidatorUptime, parseTeleporterMessage]) {
    const content = attempt<Content>(() => parse(bytes));
    if (!(content instanceof ParseError)) return content;
  }
  return undefined;
}
