import { tryParse } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, P_CHAIN_ID } from '../../warp/ids.ts';
import { parseL1Message, type RegisterL1Validator } from '../../warp/l1-message.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import { parseTeleporterMessage } from '../../warp/teleporter-message.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';

/** Equal requests share a message, which is parsed once. */
const parsed = new WeakMap<UnsignedMessage, MessageFacts>();

interface MessageFacts {
  readonly teleporterDestinationID: BlockchainID | undefined;
  readonly isForPChain: boolean;
  readonly registration: RegisterL1Validator | undefined;
}

/** Returns the destination in a Teleporter message; undefined for other messages. */
export function teleporterDestination(message: UnsignedMessage): BlockchainID | undefined {
  return factsOf(message).teleporterDestinationID;
}

/**
 * Whether a validator manager sent the message to the P-Chain, which verifies it at the height of its own epoch (avalanchego
 * `vms/platformvm/block/executor/manager.go`). An L1ValidatorWeight of the P-Chain goes the other way.
 */
export function isForPChain(message: UnsignedMessage): boolean {
  return factsOf(message).isForPChain;
}

/** Returns the registration that a validator manager sends to the P-Chain; undefined for other messages. */
export function registrationOf(message: UnsignedMessage): RegisterL1Validator | undefined {
  return factsOf(message).registration;
}

function factsOf(message: UnsignedMessage): MessageFacts {
  const known = parsed.get(message);
  if (known !== undefined) return known;
  const payload = tryParse(() => parseWarpPayload(message.payload));
  const call = payload?.kind === 'AddressedCall' ? payload.payload : undefined;
  const content = call && tryParse(() => parseL1Message(call));
  const isOfManager = message.sourceChainID !== P_CHAIN_ID;
  const registration = content?.kind === 'RegisterL1Validator' && isOfManager ? content : undefined;
  const facts = {
    teleporterDestinationID: call && tryParse(() => parseTeleporterMessage(call))?.destinationBlockchainID,
    isForPChain: registration !== undefined || (content?.kind === 'L1ValidatorWeight' && isOfManager),
    registration,
  };
  parsed.set(message, facts);
  return facts;
}
