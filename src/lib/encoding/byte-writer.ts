/** Writes the big-endian codec of avalanchego. A value that does not fit is a bug. */
export class ByteWriter {
  readonly #parts: Uint8Array[] = [];

  u8(value: number): this {
    return this.#push(1, (view) => view.setUint8(0, checked(value, 0xff)));
  }

  u16(value: number): this {
    return this.#push(2, (view) => view.setUint16(0, checked(value, 0xffff)));
  }

  u32(value: number): this {
    return this.#push(4, (view) => view.setUint32(0, checked(value, 0xffff_ffff)));
  }

  u64(value: bigint): this {
    if (value < 0n || value > 0xffff_ffff_ffff_ffffn) throw new RangeError(`${value} does not fit into a u64`);
    return this.#push(8, (view) => view.setBigUint64(0, value));
  }

  bytes(value: Uint8Array): this {
    this.#parts.push(value);
    return this;
  }

  /** Writes bytes of a fixed length, without a length prefix. */
  fixedBytes(value: Uint8Array, length: number): this {
    if (value.length !== length) throw new RangeError(`${value.length} bytes where ${length} belong`);
    return this.bytes(value);
  }

  lengthPrefixed(value: Uint8Array): this {
    return this.u32(value.length).bytes(value);
  }

  finish(): Uint8Array {
    const bytes = new Uint8Array(this.#parts.reduce((length, part) => length + part.length, 0));
    let offset = 0;
    for (const part of this.#parts) {
      bytes.set(part, offset);
      offset += part.length;
    }
    return bytes;
  }

  #push(length: number, write: (view: DataView) => void): this {
    const part = new Uint8Array(length);
    write(new DataView(part.buffer));
    this.#parts.push(part);
    return this;
  }
}

function checked(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) throw new RangeError(`${value} is not in 0..${max}`);
  return value;
}
