import type { BlsBackend, HashedMessage } from '../backends/bls-backend.ts';

/** Values of the first word, which is 0 until a thread begins. */
const BEGUN = 1;
const DONE = 2;
/** The state, and the length of the packed message. */
const HEADER_BYTES = 8;
/** A hash takes a millisecond. A thread that has waited longer hashes itself, because the thread that began may have ended. */
const MAX_WAIT_MS = 10;

/**
 * Memory that all threads share for one message, hashed by one of them before it is needed. The signature may come to another
 * thread while that one is still at it.
 */
export function createHashMemory(packedPublicKeyBytes: number): SharedArrayBuffer {
  // Coordinates of G2 have two parts where those of G1 have one.
  return new SharedArrayBuffer(HEADER_BYTES + 2 * packedPublicKeyBytes);
}

/** Hashes a message into such memory. @returns it packed */
export function hashInto(backend: BlsBackend, message: Uint8Array, memory: SharedArrayBuffer): Uint8Array {
  const header = new Int32Array(memory, 0, 2);
  Atomics.store(header, 0, BEGUN);
  let packed: Uint8Array | undefined;
  try {
    packed = backend.packMessage(backend.hashToCurve(message));
    new Uint8Array(memory, HEADER_BYTES).set(packed);
    header[1] = packed.length;
    return packed;
  } finally {
    Atomics.store(header, 0, packed === undefined ? 0 : DONE);
    Atomics.notify(header, 0);
  }
}

/** The same message hashed: from that memory where a thread has left it there or is at it, else here. */
export function hashedFrom(backend: BlsBackend, message: Uint8Array, memory: SharedArrayBuffer): HashedMessage {
  const header = new Int32Array(memory, 0, 2);
  Atomics.wait(header, 0, BEGUN, MAX_WAIT_MS);
  if (Atomics.load(header, 0) !== DONE) return backend.hashToCurve(message);
  return backend.unpackMessage(new Uint8Array(memory).slice(HEADER_BYTES, HEADER_BYTES + (header[1] ?? 0)));
}
