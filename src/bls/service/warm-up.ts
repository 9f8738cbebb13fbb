import { hexToBytes } from '@noble/hashes/utils.js';
import type { BlsBackend } from '../backends/bls-backend.ts';

/** Compressed generators of G1 and G2. */
const KEY = hexToBytes(
  '97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
);
const SIGNATURE = hexToBytes(
  '93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e' +
    '024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8',
);
const ROUNDS = 3;

/**
 * Runs the operations of a request once: tables are created at first use, and compiled code runs several times faster. Both take some 150
 * ms, which the first request would wait for.
 */
export function warmUp(backend: BlsBackend): void {
  for (let round = 0; round < ROUNDS; round += 1) {
    const message = backend.hashToCurve(Uint8Array.of(round));
    backend.verify(backend.parsePublicKey(KEY), message, backend.parseSignature(SIGNATURE));
  }
}
