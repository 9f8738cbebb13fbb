/**
 * Lengths in bytes of BLS12-381 points in their standard encodings: public keys in G1, signatures in G2. Points on the wire are
 * compressed.
 */
export const BLS_PUBLIC_KEY_LENGTH = 48;
export const BLS_SIGNATURE_LENGTH = 96;
export const BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH = 2 * BLS_PUBLIC_KEY_LENGTH;
export const BLS_UNCOMPRESSED_SIGNATURE_LENGTH = 2 * BLS_SIGNATURE_LENGTH;
