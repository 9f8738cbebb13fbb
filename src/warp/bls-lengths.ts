/** Bytes of compressed BLS12-381 points: public keys in G1, signatures in G2. */
export const BLS_PUBLIC_KEY_LENGTH = 48;
export const BLS_SIGNATURE_LENGTH = 96;
export const BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH = 2 * BLS_PUBLIC_KEY_LENGTH;
export const BLS_UNCOMPRESSED_SIGNATURE_LENGTH = 2 * BLS_SIGNATURE_LENGTH;
