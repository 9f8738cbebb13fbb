import { parentPort, workerData } from 'node:worker_threads';
import * as blst from '@chainsafe/blst';

/** What the server of `go-way-server.ts` has its threads do. */
export type GoWayJob = { readonly id: number } & (
  | { readonly kind: 'verify'; readonly signer: number; readonly message: Uint8Array; readonly signature: Uint8Array }
  | { readonly kind: 'aggregate'; readonly signatures: readonly Uint8Array[] }
);
/** Whether it verifies; the bytes of the sum, or none. */
export type GoWayResult = { readonly id: number; readonly isValid: boolean; readonly sum?: Uint8Array };

const keys = (workerData as { readonly publicKeys: readonly Uint8Array[] }).publicKeys.map((bytes) =>
  blst.PublicKey.fromBytes(bytes, true),
);

parentPort?.on('message', (job: GoWayJob) => parentPort?.postMessage(run(job)));

function run(job: GoWayJob): GoWayResult {
  const { id } = job;
  try {
    if (job.kind === 'verify') {
      const key = keys[job.signer] as blst.PublicKey;
      return { id, isValid: blst.verify(job.message, key, blst.Signature.fromBytes(job.signature, true)) };
    }
    // The reference keeps signatures as bytes, and decodes and checks them a second time here.
    const signatures = job.signatures.map((bytes) => blst.Signature.fromBytes(bytes, true));
    return { id, isValid: true, sum: blst.aggregateSignatures(signatures).toBytes() };
  } catch {
    return { id, isValid: false };
  }
}
