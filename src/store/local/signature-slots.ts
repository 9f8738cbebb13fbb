import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';

/** Slots by which the memory grows. */
const GROWTH = 1_024;

/**
 * Signatures in numbered slots of one buffer, which grows on demand. A separate array for each signature of 96 bytes would take about 500
 * bytes.
 */
export class SignatureSlots {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #free: number[] = [];
  #unused = 0;

  constructor(maxSlots: number) {
    const maxByteLength = BLS_SIGNATURE_LENGTH * GROWTH * Math.ceil(maxSlots / GROWTH);
    this.#bytes = new Uint8Array(new ArrayBuffer(0, { maxByteLength }));
  }

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
    const offset = slot * BLS_SIGNATURE_LENGTH;
    if (offset === this.#bytes.length) this.#bytes.buffer.resize(offset + GROWTH * BLS_SIGNATURE_LENGTH);
    this.#bytes.set(signature, offset);
  }

  free(slot: number): void {
    this.#free.push(slot);
  }

  /** Returns a copy, because slots are reused. */
  read(slot: number): Uint8Array {
    return this.#bytes.slice(slot * BLS_SIGNATURE_LENGTH, (slot + 1) * BLS_SIGNATURE_LENGTH);
  }
}
