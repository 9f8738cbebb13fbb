import { Type } from '../../lib/encoding/schema.ts';
import type { Setting } from './setting.ts';

/** Milliseconds, up to an hour. */
export function DurationMs(setting: Setting) {
  return Type.Integer({ minimum: 1, maximum: 3_600_000, ...setting });
}

export function Count(setting: Setting) {
  return Type.Integer({ minimum: 1, maximum: 10_000_000, ...setting });
}
