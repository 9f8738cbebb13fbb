import type { FieldModule } from './field-module.ts';
import { createFusedField, FUSED_FIELD_BYTES, isFused } from './fused-field.ts';

/** Assembled when it is loaded, which takes a while, and so only where there is no other way. */
const integerField = isFused() ? undefined : await import('./integer-field.ts');

/** Length of an element of the base field: the same in all threads, as they are of one machine. */
export const FP_BYTES = integerField?.INTEGER_FIELD_BYTES ?? FUSED_FIELD_BYTES;

export function createFieldModule(): FieldModule {
  return integerField === undefined ? createFusedField() : integerField.createIntegerField();
}
