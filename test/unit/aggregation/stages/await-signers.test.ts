import { expect, test } from 'vitest';
import { AggregatorError, type AggregatorErrorCode } from '../../../../src/aggregation/aggregator-error.ts';
import { awaitSigners } from '../../../../src/aggregation/stages/await-signers.ts';
import { type AskedCall, type Caller, startWait } from '../../../../src/aggregation/stages/calls.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { MESSAGE } from '../aggregator-fixture.ts';
import { askedCall, createStageMetrics, RESULT } from './stage-fixture.ts';

const SUBJECT = { kind: 'message', message: MESSAGE, justification: new Uint8Array() } as const;

/** @param readyMs until then it fails with the code */
function create(code: AggregatorErrorCode, readyMs: number) {
  const clock = new FakeClock();
  const attemptsMs: number[] = [];
  const permits = { held: 0 };
  const handler = awaitSigners({
    admission: {
      awaitTransaction() {
        permits.held += 1;
        const release = (): void => void (permits.held -= 1);
        return { release, [Symbol.dispose]: release };
      },
    },
    clock,
    metrics: createStageMetrics().metrics,
  })(async () => {
    attemptsMs.push(clock.monotonicMs());
    if (clock.monotonicMs() < readyMs) throw new AggregatorError(code, 'not yet');
    return RESULT;
  });
  const start = (times: Partial<Caller>) => {
    const call: AskedCall = { ...askedCall({ subject: SUBJECT }, times), wait: startWait(clock, times) };
    const result = handler(call);
    result.catch(() => undefined);
    return { call, result };
  };
  return { clock, attemptsMs, permits, start };
}

test.each<[AggregatorErrorCode, Partial<Caller>]>([
  ['no_validators_yet', { waitMs: 30_000 }],
  ['no_validators_yet', { signersWaitMs: 30_000 }],
  ['p_chain_unavailable', { signersWaitMs: 30_000 }],
  ['chain_rpc_unavailable', { waitMs: 30_000 }],
])('waits for what passes, as %s, a caller with the times %j', async (code, times) => {
  const { clock, start, attemptsMs, permits } = create(code, 29_500);
  const { call, result } = start(times);
  await clock.advance(500);
  expect(permits.held).toBe(1);
  await clock.advance(29_500);
  expect(await result).toBe(RESULT);
  expect([attemptsMs.at(-1), permits.held, call.wait.spentMs]).toEqual([30_000, 0, 30_000]);
});

test.each<[AggregatorErrorCode, Partial<Caller>]>([
  ['no_validators_yet', {}],
  ['unknown_subnet', { waitMs: 30_000 }],
  ['p_chain_invalid', { waitMs: 30_000 }],
  ['no_validators_yet', { waitMs: 30_000, signersWaitMs: 0 }],
])('fails at once with %s a caller with the times %j', async (code, times) => {
  const { start, attemptsMs } = create(code, 1_000_000);
  await expect(start(times).result).rejects.toMatchObject({ code });
  expect(attemptsMs).toEqual([0]);
});

test('the last attempt reads a height that was not cached before the end of the wait', async () => {
  const { clock, start, attemptsMs } = create('no_validators_yet', 1_000_000);
  const { result } = start({ signersWaitMs: 2_500 });
  await clock.advance(10_000);
  await expect(result).rejects.toMatchObject({ code: 'no_validators_yet' });
  expect(attemptsMs).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
});

test('ends when the service stops, or the client disconnects', async () => {
  const { clock, start, attemptsMs } = create('no_validators_yet', 1_000_000);
  const [stopping, client] = [new AbortController(), new AbortController()];
  const stopped = start({ signersWaitMs: 30_000, waitEnds: stopping.signal }).result;
  const left = start({ signersWaitMs: 30_000, signal: client.signal }).result;
  await clock.advance(500);
  stopping.abort();
  client.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await clock.advance(500);
  await expect(stopped).rejects.toMatchObject({ code: 'no_validators_yet' });
  await settle();
  expect(attemptsMs).toEqual([0, 0, 1_000]);
});
