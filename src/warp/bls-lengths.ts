/**
 * Lengths in bytes of the points of BLS12-381 in their standard encodings. Public keys are points of G1 and signatures points
 * of G2. On the wire both are compressed: one coordinate and a sign. Uncompressed they have both coordinates.
 */
export const BLS_PUBLIC_KEY_LENGTH = 48;
export const BLS_SIGNATURE_LENGTH = 96;
export const BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH = 2 * BLS_PUBLIC_KEY_LENGTH;
export const BLS_UNCOMPRESSED_SIGNATURE_LENGTH = 2 * BLS_SIGNATURE_LENGTH;
