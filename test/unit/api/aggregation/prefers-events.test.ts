import { expect, test } from 'vitest';
import { prefersEvents } from '../../../../src/api/aggregation/prefers-events.ts';

test.each([
  ['text/event-stream', true],
  ['Text/Event-Stream;charset=utf-8', true],
  ['text/event-stream, */*', true],
  ['application/json;q=0.9, text/event-stream', true],
  ['application/json;q=0, text/html, text/event-stream ; q=0.1', true],
  // No number counts as none.
  ['text/event-stream;q=high', true],
  [undefined, false],
  ['text/*, */*', false],
  ['text/event-stream;q=0', false],
  // As of clients that can read both.
  ['text/event-stream, application/json', false],
  ['application/json, text/event-stream;q=0.9', false],
  ['text/event-streams', false],
])('%s asks for events: %s', (accept, isForEvents) => {
  expect(prefersEvents(accept)).toBe(isForEvents);
});
