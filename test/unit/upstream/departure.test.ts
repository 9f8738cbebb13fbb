import { expect, test } from 'vitest';
import { Departure } from '../../../src/upstream/departure.ts';

const GONE = new Error('gone');

test('tells the one who listens, once, and whoever asks later', () => {
  const departure = new Departure();
  const heard: Error[] = [];
  departure.onLeave = () => expect.unreachable();
  departure.onLeave = (reason) => heard.push(reason);
  expect(departure.reason).toBeUndefined();
  departure.leave(GONE);
  departure.leave(new Error('gone again'));
  expect(heard).toEqual([GONE]);
  expect(departure.reason).toBe(GONE);
});

test('nobody is told who does not listen any more', () => {
  const departure = new Departure();
  departure.onLeave = () => expect.unreachable();
  departure.onLeave = undefined;
  departure.leave(GONE);
});

test('its signal aborts with the reason, also where it is asked for afterwards', () => {
  const departure = new Departure();
  const { signal } = departure;
  expect([signal.aborted, departure.signal]).toEqual([false, signal]);
  departure.leave(GONE);
  expect(signal.reason).toBe(GONE);
  const late = new Departure();
  late.leave(GONE);
  expect(late.signal.reason).toBe(GONE);
});

test('leaves when a signal aborts, or has done so', () => {
  const controller = new AbortController();
  const departure = Departure.by(controller.signal);
  expect(departure.reason).toBeUndefined();
  controller.abort(GONE);
  expect(departure.reason).toBe(GONE);
  expect(Departure.by(controller.signal).reason).toBe(GONE);
});
