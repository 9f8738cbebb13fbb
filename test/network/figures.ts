import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';

/** Notes something measured, for the table that `figures-table.ts` prints at the end of the run. */
export function recordFigure(name: string, value: string): void {
  appendFileSync(inject('figuresFile'), `${JSON.stringify({ name, value })}\n`);
}

export function inMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

/** @param sorted ascending */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
