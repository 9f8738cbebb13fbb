import { tryParse } from '../../lib/encoding/parse-error.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import { parseTeleporterMessage } from '../../warp/teleporter-message.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';

/** Equal requests share a message, which is parsed once. */
const parsed = new WeakMap<UnsignedMessage, { readonly chainID: BlockchainID | undefined }>();

/** Returns the destination in a Teleporter message; undefined for other messages. */
export function teleporterDestination(message: UnsignedMessage): BlockchainID | undefined {
  const known = parsed.get(message);
  if (known !== undefined) return known.chainID;
  const payload = tryParse(() => parseWarpPayload(message.payload));
  const content = payload?.kind === 'AddressedCall' && tryParse(() => parseTeleporterMessage(payload.payload));
  const chainID = content ? content.destinationBlockchainID : undefined;
  parsed.set(message, { chainID });
  return chainID;
}
