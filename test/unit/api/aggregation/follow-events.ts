import { expect } from 'vitest';
import type { AggregationEvent } from '../../../../src/api/aggregation/progress-records.ts';

/** Returns what a client knows that follows the events of progress as they are described. */
export function follow(events: readonly AggregationEvent[]) {
  let view: Extract<AggregationEvent, { event: 'resolved' }>['data'] | undefined;
  for (const told of events) {
    if (told.event === 'resolved') {
      view = structuredClone(told.data);
      continue;
    }
    if (view === undefined) throw new Error(`${told.event} before anything was resolved`);
    const { validators } = view;
    const update = (at: number, changed: object) => {
      const { code: _, text: __, reason: ___, ...validator } = validators[at]!;
      validators[at] = { ...validator, ...changed };
    };
    if (told.event === 'asked') for (const at of told.data.validators) update(at, { status: 'asked' });
    else if (told.event === 'answer') {
      for (const { index: at, outcome: status, weight: own, ...why } of told.data.answers) {
        expect(own).toBe(validators[at]?.weight);
        update(at, { status, ...why });
      }
    } else if (told.event === 'progress') Object.assign(view, told.data);
    else if (told.event === 'verifying') view.isVerifying = true;
    else throw new Error('there is no end in it');
  }
  return view;
}
