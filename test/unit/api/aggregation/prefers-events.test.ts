import { expect, test } from 'vitest';
import { prefersEvents } from '../../../../src/api/aggregation/prefers-events.ts';

test.each([
  'text/event-stream',
  'Text/Event-Stream',
  'text/event-stream;charset=utf-8',
  'text/event-stream, */*',
  'application/json;q=0.9, text/event-stream',
  'application/json;q=0, text/event-stream;q=0.1',
  'text/html, text/event-stream ; q=0.5',
  // No number counts as none.
  'text/event-stream;q=high',
])('%s asks for events', (accept) => {
  expect(prefersEvents(accept)).toBe(true);
});

test.each([
  undefined,
  '',
  '*/*',
  'text/*',
  'application/json',
  'text/event-stream;q=0',
  // As of clients that can read both.
  'application/json, text/event-stream',
  'text/event-stream, application/json',
  'application/json, text/event-stream;q=0.9',
  'text/event-streams',
])('%s asks for JSON', (accept) => {
  expect(prefersEvents(accept)).toBe(false);
});
