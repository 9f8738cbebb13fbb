/**
 * Encodes a set of small non-negative integers as the big-endian integer whose bit i is set if i is a member, in the fewest bytes: the
 * form of `BitSetSignature.signers`. Verifiers reject a padded one (avalanchego `vms/platformvm/warp/signature.go`).
 */
export function encodeBitSet(members: Iterable<number>): Uint8Array {
  const indices = [...members];
  const highest = indices.reduce((max, index) => Math.max(max, index), -1);
  const bytes = new Uint8Array(Math.floor(highest / 8) + 1);
  for (const index of indices) {
    if (!Number.isInteger(index) || index < 0) throw new RangeError(`${index} cannot be a member of a bit set`);
    const at = bytes.length - 1 - Math.floor(index / 8);
    bytes[at] = (bytes[at] ?? 0) | (1 << (index % 8));
  }
  return bytes;
}

/** Returns the members in ascending order; undefined if the bytes are padded with a leading zero byte. */
export function parseBitSet(bytes: Uint8Array): number[] | undefined {
  if (bytes[0] === 0) return undefined;
  const members: number[] = [];
  for (let index = 0; index < bytes.length * 8; index += 1) {
    const byte = bytes[bytes.length - 1 - Math.floor(index / 8)] ?? 0;
    if ((byte & (1 << (index % 8))) !== 0) members.push(index);
  }
  return members;
}
