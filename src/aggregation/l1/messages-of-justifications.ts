import { unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { encodeJustification } from '../../warp/justification.ts';
import { AggregatorError, type AggregatorErrorCode } from '../aggregator-error.ts';
import { looksLikeSignedMessage, looksLikeUnsignedMessage, recognizeJustification } from './l1-justification.ts';
import type { L1MessageRequest, L1RequestBuilder } from './l1-request-builder.ts';

export interface MessagesOfJustificationsOptions {
  readonly api: Pick<NodeApi, 'getL1Validator'>;
  readonly directory: SubnetDirectory;
  readonly toRequest: L1RequestBuilder;
}

export function createMessagesOfJustifications({ api, directory, toRequest }: MessagesOfJustificationsOptions) {
  return async (bytes: Uint8Array, signal: AbortSignal): Promise<L1MessageRequest> => {
    const recognized = recognizeJustification(bytes);
    if (recognized === undefined) throw failure('invalid_request', describeUnrecognized(bytes));
    const { subnetID } = recognized;
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) throw failure('unknown_subnet', `the P-Chain knows no subnet ${subnetID}`);
    const { conversionID, managerChainID } = subnet;
    if (conversionID === undefined || managerChainID === undefined) {
      throw failure('invalid_request', `subnet ${subnetID} was not converted to an L1`);
    }
    if (recognized.kind === 'subnet') {
      const message = { kind: 'SubnetToL1Conversion', conversionID } as const;
      return toRequest({ message, justification: bytes, managerChainID }, 'justification', signal);
    }
    const { validationID } = recognized;
    if ((await unlessRefused(api.getL1Validator(validationID, signal))) !== undefined) {
      throw failure(
        'validation_not_over',
        `validation ${validationID} is of an L1 validator that exists: the P-Chain confirms the end of one after its ` +
          'removal only',
      );
    }
    const message = { kind: 'L1ValidatorRegistration', validationID, registered: false } as const;
    const justification = encodeJustification(recognized.justification);
    return toRequest({ message, justification, managerChainID }, 'justification', signal);
  };
}

const ACCEPTED =
  'without a message it must be the 32 bytes of a subnet ID, an L1ValidatorRegistrationJustification, a RegisterL1Validator ' +
  'payload, or the Warp message that holds such a payload';

function describeUnrecognized(bytes: Uint8Array): string {
  if (looksLikeSignedMessage(bytes)) return `this is a Warp message that is signed already; ${ACCEPTED}`;
  if (looksLikeUnsignedMessage(bytes))
    return `this is a Warp message: to have it signed, give it as the message; ${ACCEPTED}`;
  return ACCEPTED;
}

function failure(code: AggregatorErrorCode, message: string): AggregatorError {
  return new AggregatorError(code, message, { field: 'justification' });
}
