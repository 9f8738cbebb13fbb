import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';

/** 96 KB: little for a service of a few validators, and 200,000 signatures need no more than 200 blocks. */
const SLOTS_A_BLOCK = 1_024;

/**
 * Signatures side by side in blocks of memory, each in a slot with a number of its own. As an array of its own, one of 96 bytes takes
 * four objects and two pieces of memory outside the heap, some 500 bytes. Blocks are added as they are needed, and kept.
 */
export class SignatureSlots {
  readonly #blocks: Uint8Array[] = [];
  /** Slots that were used before. */
  readonly #free: number[] = [];
  /** The first slot that never was. */
  #unused = 0;

  /**
   * @returns its slot
   * @throws {RangeError} where it has another length than a signature
   */
  add(signature: Uint8Array): number {
    const slot = this.#free.at(-1) ?? this.#unused;
    this.replace(slot, signature);
    if (slot === this.#unused) this.#unused += 1;
    else this.#free.pop();
    return slot;
  }

  /** @throws {RangeError} where it has another length than a signature */
  replace(slot: number, signature: Uint8Array): void {
    const { length } = signature;
    if (length !== BLS_SIGNATURE_LENGTH) throw new RangeError(`a signature of ${length} bytes`);
    const block = (this.#blocks[blockOf(slot)] ??= new Uint8Array(SLOTS_A_BLOCK * BLS_SIGNATURE_LENGTH));
    block.set(signature, offsetOf(slot));
  }

  free(slot: number): void {
    this.#free.push(slot);
  }

  /** A copy, as the slot may soon have another one. */
  read(slot: number): Uint8Array {
    const block = this.#blocks[blockOf(slot)];
    if (block === undefined) throw new RangeError(`slot ${slot} has no signature`);
    const offset = offsetOf(slot);
    return block.slice(offset, offset + BLS_SIGNATURE_LENGTH);
  }
}

function blockOf(slot: number): number {
  return Math.floor(slot / SLOTS_A_BLOCK);
}

function offsetOf(slot: number): number {
  return (slot % SLOTS_A_BLOCK) * BLS_SIGNATURE_LENGTH;
}
