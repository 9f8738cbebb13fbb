/**
 * The Warp precompile of EVM chains, a function of it, and the log of its event `SendWarpMessage(address,bytes32,bytes)` (subnet-evm
 * `precompile/contracts/warp`).
 * Without imports, for the console.
 */
export const WARP_PRECOMPILE = '0x0200000000000000000000000000000000000005';
/** Selector of `getBlockchainID()`, whose result is the ID of the chain. */
export const GET_BLOCKCHAIN_ID = '0x4213cf78';
/** keccak256 of the event's signature. */
export const SEND_WARP_MESSAGE = '0x56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d';

/** Hex digits of the ABI's offset and length, 32 bytes each. */
const HEADER_DIGITS = 128;
/** The offset, 32, in hex. No Warp message starts like this: its network ID would be 0. */
export const LOG_DATA_START = '20'.padStart(64, '0');

/**
 * Returns the unsigned message in the data of the log, ABI-encoded bytes; undefined for other texts.
 *
 * @param data hex, with or without `0x`
 */
export function messageOfLogData(data: string): string | undefined {
  const digits = data.startsWith('0x') ? data.slice(2) : data;
  if (!digits.startsWith(LOG_DATA_START)) return undefined;
  const length = Number.parseInt(digits.slice(LOG_DATA_START.length, HEADER_DIGITS), 16);
  const message = digits.slice(HEADER_DIGITS, HEADER_DIGITS + 2 * length);
  return message.length === 2 * length ? message : undefined;
}

/** Encodes the data of the log as the precompile does. @param message hex, without `0x` */
export function encodeLogData(message: string): string {
  const length = (message.length / 2).toString(16).padStart(64, '0');
  return `0x${LOG_DATA_START}${length}${message.padEnd(64 * Math.ceil(message.length / 64), '0')}`;
}
