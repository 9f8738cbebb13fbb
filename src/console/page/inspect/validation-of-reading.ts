import type { DecodedReading } from '../../../api/messages/message-records.ts';

export interface ReadValidation {
  readonly validationId: string;
  /** The payload of its registration, in hex. */
  readonly justification?: string;
}

/** Returns the L1 validation that pasted bytes are about. */
export function validationOfReading(reading: DecodedReading): ReadValidation | undefined {
  if (reading.as === 'justification') {
    const { justification } = reading;
    const { validationId } = justification;
    if (validationId === undefined) return undefined;
    return { validationId, ...('message' in justification && { justification: justification.message }) };
  }
  if (reading.as === 'content') {
    return 'validationId' in reading.content ? { validationId: reading.content.validationId } : undefined;
  }
  const { payload } = reading;
  if (payload.kind !== 'AddressedCall' || payload.content === undefined) return undefined;
  const { content } = payload;
  if (!('validationId' in content)) return undefined;
  const isRegistration = content.kind === 'RegisterL1Validator';
  return { validationId: content.validationId, ...(isRegistration && { justification: payload.payload }) };
}
