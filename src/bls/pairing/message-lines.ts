import { LRUCache } from 'lru-cache';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { g2Curve } from '../curve/curve.ts';
import { allocate, allocateMany, loadWords } from '../field/field.ts';
import { LINES_BYTES, prepareLines } from './fast-pairing.ts';

/**
 * Number of messages whose lines are cached: those of {@link MAX_PREPARED} concurrent checks, and some that are being hashed. Each takes 26
 * KB of the field's memory.
 */
const SLOTS = 48;
/** Number of messages whose lines are valid at the same time. */
export const MAX_PREPARED = 32;

const free: number[] = allocateMany(SLOTS, LINES_BYTES);
const slots = new LRUCache<string, number>({ max: SLOTS });
const point = allocate(g2Curve.pointBytes);

/**
 * A part of the Miller loop depends on the message alone. It is computed when the message is hashed, and kept in case this thread verifies
 * the signature too.
 *
 * @param hashed the words of a finite point with Z = 1
 * @returns the address of its lines, which stay valid until the lines of {@link MAX_PREPARED} other messages were requested
 */
export function linesOf(hashed: Uint32Array): number {
  const name = bytesToHex(new Uint8Array(hashed.buffer, hashed.byteOffset, hashed.byteLength));
  const known = slots.get(name);
  if (known !== undefined) return known;
  const slot = free.pop() ?? oldestSlot();
  loadWords(point, hashed);
  prepareLines(slot, point);
  slots.set(name, slot);
  return slot;
}

function oldestSlot(): number {
  const slot = slots.pop();
  if (slot === undefined) throw new Error('no slot is free and none is taken');
  return slot;
}
