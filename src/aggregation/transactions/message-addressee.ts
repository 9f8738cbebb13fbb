import { equalBytes } from '../../lib/encoding/bytes.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidationIndex } from '../../pchain/state/validation-index.ts';
import { type BlockchainID, P_CHAIN_ID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import { encodeJustification } from '../../warp/justification.ts';
import { parseL1Message } from '../../warp/l1-message.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { recognizeJustification } from './l1-justification.ts';

export interface MessageAddresseesOptions {
  readonly api: Pick<NodeApi, 'getL1Validator'>;
  readonly directory: Pick<SubnetDirectory, 'getSubnet'>;
  /** Knows validations that are over. */
  readonly index?: Pick<ValidationIndex, 'originOf'> | undefined;
  /** Subnets whose conversion a message may be about: its hash does not name the subnet. */
  readonly candidates: () => Iterable<SubnetID>;
}

/**
 * Returns a function that finds the chain of the validator manager to which a message of the P-Chain is addressed; undefined for other
 * messages, and if it is not known. The function throws `ApiError`, or the signal's reason.
 */
export function createAddresseeFinder({ api, directory, index, candidates }: MessageAddresseesOptions) {
  async function subnetOf(validationID: ValidationID, signal: AbortSignal): Promise<SubnetID | undefined> {
    const validator = await unlessRefused(api.getL1Validator(validationID, signal));
    if (validator !== undefined) return validator.subnetID;
    const origin = await index?.originOf(validationID, signal);
    return origin && recognizeJustification(encodeJustification(origin))?.subnetID;
  }

  async function managerOfConversion(conversionID: Uint8Array, signal: AbortSignal): Promise<BlockchainID | undefined> {
    for (const subnetID of candidates()) {
      const subnet = await directory.getSubnet(subnetID, signal);
      if (subnet?.conversionID !== undefined && equalBytes(subnet.conversionID, conversionID)) {
        return subnet.managerChainID;
      }
    }
    return undefined;
  }

  return async (
    { sourceChainID, payload }: UnsignedMessage,
    signal: AbortSignal,
  ): Promise<BlockchainID | undefined> => {
    if (sourceChainID !== P_CHAIN_ID) return undefined;
    const call = tryParse(() => parseWarpPayload(payload));
    const content = call?.kind === 'AddressedCall' ? tryParse(() => parseL1Message(call.payload)) : undefined;
    switch (content?.kind) {
      case 'L1ValidatorRegistration':
      case 'L1ValidatorWeight': {
        const subnetID = await subnetOf(content.validationID, signal);
        return subnetID && (await directory.getSubnet(subnetID, signal))?.managerChainID;
      }
      case 'SubnetToL1Conversion':
        return await managerOfConversion(content.conversionID, signal);
      case 'RegisterL1Validator':
      case undefined:
        return undefined;
    }
  };
}
