import { expect, test } from 'vitest';
import { askOptionally, askPChain } from '../../../src/aggregation/ask-p-chain.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { hang } from './api-failures.ts';

test.each([
  ['a needed', askPChain],
  ['an optional', askOptionally],
])('%s call ends with the reason of a client that leaves', async (_, ask) => {
  const patience = { clock: new FakeClock(), timeoutMs: 1_000 };
  const client = new AbortController();
  const asking = ask(patience, client.signal, hang);
  client.abort(new Error('gone'));
  await expect(asking).rejects.toThrow('gone');
  expect(patience.clock.pendingTimers).toBe(0);
});
