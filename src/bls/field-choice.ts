import type { FieldModule } from './field-module.ts';
import { createFusedField, FUSED_FIELD_BYTES, isFused } from './fused-field.ts';
import { createIntegerField, INTEGER_FIELD_BYTES } from './integer-field.ts';

/**
 * 1.75 MiB, of which most is for prepared lines (`fast-pairing.ts`). A constant size, so that views of the memory stay valid; what is not
 * written to costs nothing.
 */
const MEMORY_PAGES = 28;

const isFast = isFused();

/** Length of an element of the base field: the same in all threads, as they are of one machine. */
export const FP_BYTES = isFast ? FUSED_FIELD_BYTES : INTEGER_FIELD_BYTES;

export function createFieldModule(): FieldModule {
  return isFast ? createFusedField(MEMORY_PAGES) : createIntegerField(MEMORY_PAGES);
}
