import { concat, decodeAbiParameters, type Hex, parseAbiParameters, size, toFunctionSelector, toHex } from 'viem';
import { WARP_PRECOMPILE } from '../../src/client/warp-messages.ts';

/** What the Warp precompile answers to `getVerifiedWarpMessage`. */
const ANSWER = parseAbiParameters('(bytes32 sourceChainID, address sender, bytes payload) message, bool valid');

const ASK: readonly Hex[] = [
  // memory: the selector, and zeros as index
  ...(['0x63', toFunctionSelector('function getVerifiedWarpMessage(uint32)'), '0x60e01b', '0x600052'] as const),
  // STATICCALL with these 36 bytes, RETURNDATACOPY to 0
  ...(['0x60006000', '0x60246000', '0x73', WARP_PRECOMPILE, '0x5afa', '0x3d600060003e'] as const),
  // whether the call succeeded and the second word, `valid`, is 1
  '0x60205116',
];
const JUMP_AND_REVERT = 2 + 1 + 5;
const RUNTIME = concat([
  ...ASK,
  ...(['0x60', toHex(size(concat(ASK)) + JUMP_AND_REVERT, { size: 1 }), '0x57', '0x60006000fd'] as const),
  // JUMPDEST, LOG0 of the answer, STOP
  '0x5b3d6000a000',
]);

/**
 * Creation code of a contract that receives Warp messages, in bytes, since no compiler is here. Whichever of its functions is called, it does this:
 *
 *     (WarpMessage memory message, bool valid) = IWarpMessenger(PRECOMPILE).getVerifiedWarpMessage(0);
 *     require(valid);
 *     emit Received(message, valid); // anonymous
 */
export const RECEIVER_CREATION_CODE: Hex = concat([
  // CODECOPY of what follows these 11 bytes, RETURN
  ...(['0x60', toHex(size(RUNTIME), { size: 1 }), '0x80600b6000396000f3'] as const),
  RUNTIME,
]);

export interface DeliveredMessage {
  readonly sourceChainID: Hex;
  readonly sender: Hex;
  readonly payload: Hex;
}

/** Reads the log of the contract. */
export function deliveredMessage(data: Hex): DeliveredMessage {
  const [{ sourceChainID, sender, payload }] = decodeAbiParameters(ANSWER, data);
  return { sourceChainID, sender, payload };
}
