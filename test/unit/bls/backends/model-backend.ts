import { encodeModelKey, encodeModelSignature, hashToModel } from '../../../simulation/model-bls.ts';

/** The BLS model of the simulation, with secrets and errors that tests choose. */
export { modelBackend } from '../../../simulation/model-bls.ts';

export interface ModelSigner {
  readonly publicKey: Uint8Array;
  /** @param error added to the signature: 0 for a valid signature */
  sign(message: Uint8Array, error?: bigint): Uint8Array;
}

export function createModelSigner(secret: bigint): ModelSigner {
  return {
    publicKey: encodeModelKey(secret),
    sign: (message, error = 0n) => encodeModelSignature(secret * hashToModel(message) + error),
  };
}
