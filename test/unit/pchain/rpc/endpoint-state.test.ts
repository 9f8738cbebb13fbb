import { expect, test } from 'vitest';
import { createEndpointState } from '../../../../src/pchain/rpc/endpoint-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const HOUR_MS = 3_600_000;

test.each([
  [1_000, 1_000],
  [1_000 * HOUR_MS, HOUR_MS],
])('an endpoint that wants no calls for %i ms gets none for %i ms', async (retryAfterMs, waitMs) => {
  const clock = new FakeClock();
  const state = createEndpointState(clock);
  state.wait(retryAfterMs, 'it is busy');
  expect(state.waiting()).toEqual({ ms: waitMs, reason: 'it is busy' });
  await clock.advance(waitMs - 1);
  expect(state.waiting()).toEqual({ ms: 1, reason: 'it is busy' });
  await clock.advance(1);
  expect(state.waiting()).toBeUndefined();
});
