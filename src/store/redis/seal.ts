import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Shows that a value in the shared store was written by a replica, under this very key: whoever else can write there has not
 * the secret. It hides nothing. What was sealed once can be put back later, so values say themselves how long they are good.
 */
export interface Seal {
  /** Without a secret nothing is sealed, and a value is worth what it proves by itself. */
  readonly isOfSecret: boolean;
  seal(key: string, value: Uint8Array): Uint8Array;
  /** The value; undefined where no replica has written it. */
  open(key: string, sealed: Uint8Array): Uint8Array | undefined;
}

/** Of an HMAC-SHA256: one in 2^128 guesses is right. */
const TAG_BYTES = 16;

/** @param scope what the keys are of: the same key of another network is another key */
export function createSeal(secret: string | undefined, scope: string): Seal {
  if (secret === undefined) return { isOfSecret: false, seal: (_, value) => value, open: (_, value) => value };
  // A key of its own: whatever else the secret may be used for, nothing made there is a seal.
  const hmacKey = Buffer.from(hkdfSync('sha256', secret, '', `warp-signature-aggregator shared store ${scope}`, 32));
  const tagOf = (key: string, value: Uint8Array): Uint8Array => {
    const name = Buffer.from(key);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    return createHmac('sha256', hmacKey).update(length).update(name).update(value).digest().subarray(0, TAG_BYTES);
  };
  return {
    isOfSecret: true,
    seal: (key, value) => Buffer.concat([tagOf(key, value), value]),
    open(key, sealed) {
      if (sealed.length < TAG_BYTES) return undefined;
      const value = sealed.subarray(TAG_BYTES);
      return timingSafeEqual(sealed.subarray(0, TAG_BYTES), tagOf(key, value)) ? value : undefined;
    },
  };
}
