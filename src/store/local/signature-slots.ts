import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';

const SLOTS_A_BLOCK = 1_024;

/**
 * Signatures in numbered slots of large memory blocks. A separate array for each signature of 96 bytes would take about 500 bytes. Blocks
 * are allocated on demand and kept.
 */
export class SignatureSlots {
  readonly #blocks: Uint8Array[] = [];
  readonly #free: number[] = [];
  #unused = 0;

  /**
   * @returns its slot
   * @throws {RangeError} for another length than that of a signature
   */
  add(signature: Uint8Array): number {
    const slot = this.#free.at(-1) ?? this.#unused;
    this.replace(slot, signature);
    if (slot === this.#unused) this.#unused += 1;
    else this.#free.pop();
    return slot;
  }

  /** @throws {RangeError} for another length than that of a signature */
  replace(slot: number, signature: Uint8Array): void {
    const { length } = signature;
    if (length !== BLS_SIGNATURE_LENGTH) throw new RangeError(`a signature of ${length} bytes`);
    const block = (this.#blocks[blockOf(slot)] ??= new Uint8Array(SLOTS_A_BLOCK * BLS_SIGNATURE_LENGTH));
    block.set(signature, offsetOf(slot));
  }

  free(slot: number): void {
    this.#free.push(slot);
  }

  /** Returns a copy, because slots are reused. */
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
