import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { BlockchainID, SubnetID } from '../../warp/ids.ts';
import type { L1Message } from '../../warp/l1-message.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { AggregatorError, type RequestField } from '../aggregator-error.ts';
import { createPChainMessage } from './l1-justification.ts';

/** A P-Chain message for an L1, with everything that signing it takes. */
export interface L1MessageRequest {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  /** The chain of the L1's validator manager, which will verify the message. */
  readonly managerChainID: BlockchainID;
  /** The subnet that validates that chain. */
  readonly signingSubnetID: SubnetID;
}

/** The last two are undefined for the message of an EVM transaction: the P-Chain knows the subnet of its source chain. */
export type MessageOfTransaction = Pick<L1MessageRequest, 'message' | 'justification'> & Partial<L1MessageRequest>;

export interface L1MessageParts {
  readonly message: L1Message;
  /** Empty if validators need none. */
  readonly justification: Uint8Array;
  readonly managerChainID: BlockchainID;
}

/** @param field part of the request that led to it, for the error */
export type L1RequestBuilder = (
  parts: L1MessageParts,
  field: RequestField,
  signal: AbortSignal,
) => Promise<L1MessageRequest>;

/** Adds the signing subnet to a message. */
export function createL1RequestBuilder(networkID: number, directory: SubnetDirectory): L1RequestBuilder {
  return async ({ message, justification, managerChainID }, field, signal) => {
    const signingSubnetID = await directory.validatedBy(managerChainID, signal);
    if (signingSubnetID === undefined) {
      throw new AggregatorError(
        'invalid_request',
        `the L1's validator manager is on blockchain ${managerChainID}, which the P-Chain does not know`,
        { field },
      );
    }
    return { message: createPChainMessage(networkID, message), justification, managerChainID, signingSubnetID };
  };
}
