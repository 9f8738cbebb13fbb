import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Authenticates a value of the shared store: only replicas with the secret can write it, and only for this key. It does not encrypt, and
 * sealed values can be replayed.
 */
export interface Seal {
  seal(key: string, value: Uint8Array): Uint8Array;
  /** Returns the value; undefined if no replica has written it. */
  open(key: string, sealed: Uint8Array): Uint8Array | undefined;
}

/** Bytes of the truncated HMAC-SHA256. */
const TAG_BYTES = 16;

/** @param scope the kind of the values */
export function createSeal(secret: string, scope: string): Seal {
  // A derived key, so that other uses of the secret produce no valid seals.
  const hmacKey = Buffer.from(hkdfSync('sha256', secret, '', `warp-signature-aggregator shared store ${scope}`, 32));
  const tagOf = (key: string, value: Uint8Array): Uint8Array => {
    const name = Buffer.from(key);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    return createHmac('sha256', hmacKey).update(length).update(name).update(value).digest().subarray(0, TAG_BYTES);
  };
  return {
    seal: (key, value) => Buffer.concat([tagOf(key, value), value]),
    open(key, sealed) {
      if (sealed.length < TAG_BYTES) return undefined;
      const value = sealed.subarray(TAG_BYTES);
      return timingSafeEqual(sealed.subarray(0, TAG_BYTES), tagOf(key, value)) ? value : undefined;
    },
  };
}
