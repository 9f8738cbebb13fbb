import { describe, expect, test } from 'vitest';
import { transition, UNTRIED, type ValidatorState } from '../../../../src/aggregation/collection/validator-state.ts';
import type { AttemptFailure } from '../../../../src/aggregation/validators/validator-outcome.ts';

const LIMITS = { refusalDelaysMs: [50, 100, 400], unreachableDelaysMs: [300, 900] };
const FINAL_P_CHAIN_CODES = [1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17];
/** 6: not converted yet, 11: does not exist yet, 12: still exists, 14: may still be registered, 16: the nonce is not reached yet. */
const PASSING_P_CHAIN_CODES = [6, 11, 12, 14, 16];
const UNREACHABLE: AttemptFailure = { kind: 'unreachable', reason: 'closed' };
const TIMED_OUT: AttemptFailure = { kind: 'timed_out', reason: 'no_answer' };

test('a validator is queued, asked, and has answered and signed', () => {
  const rules = { nodeCount: 1, isPChainMessage: false, isRegistrable: false, limits: LIMITS };
  const signature = new Uint8Array(96);
  const states = (
    [
      { kind: 'queued' },
      { kind: 'asked', lateAtMs: 7 },
      { kind: 'answered' },
      { kind: 'signed', signature },
      { kind: 'forgotten' },
    ] as const
  ).reduce<ValidatorState[]>((all, event) => [...all, transition(all.at(-1) ?? UNTRIED, event, rules)], []);
  expect(states).toMatchObject([
    { kind: 'queued', attempts: 1 },
    { kind: 'asking', lateAtMs: 7, attempts: 1 },
    { kind: 'answered', attempts: 1 },
    { kind: 'signed', signature, attempts: 1 },
    UNTRIED,
  ]);
});

describe('a failure', () => {
  /** @param timeouts with this failure */
  const after = (
    failure: AttemptFailure,
    attempts: number,
    { nodeCount = 1, timeouts = 0, isPChainMessage = false, isRegistrable = false } = {},
  ): ValidatorState => {
    const earlier = failure.kind === 'timed_out' ? timeouts - 1 : timeouts;
    const before = { kind: 'asking', lateAtMs: 0, attempts, timeouts: earlier } as const;
    return transition(
      before,
      { kind: 'failed', failure, nowMs: 1_000 },
      { nodeCount, isPChainMessage, isRegistrable, limits: LIMITS },
    );
  };
  const refused = (code: number): AttemptFailure => ({ kind: 'refused', code, text: 'text' });

  test('a refusal is tried again after each delay, and then after the last one', () => {
    const failure = refused(2);
    for (const [attempts, notBeforeMs] of [1_050, 1_100, 1_400, 1_400, 1_400].entries()) {
      expect(after(failure, attempts + 1)).toMatchObject({
        kind: 'waiting',
        notBeforeMs,
        attempts: attempts + 1,
        failure,
        refusal: failure,
      });
    }
  });

  test('a validator that timed out is asked once more than it has nodes', () => {
    expect(after(TIMED_OUT, 1, { timeouts: 1 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_000 });
    expect(after(TIMED_OUT, 2, { timeouts: 2 })).toMatchObject({ kind: 'failed', failure: TIMED_OUT });
    expect(after(TIMED_OUT, 2, { timeouts: 2, nodeCount: 2 })).toMatchObject({ kind: 'waiting' });
    expect(after(TIMED_OUT, 3, { timeouts: 3, nodeCount: 2 })).toMatchObject({ kind: 'failed', failure: TIMED_OUT });
  });

  test('codes of the P-Chain are final there where no block can change them, and are other codes elsewhere', () => {
    for (const code of [...FINAL_P_CHAIN_CODES, ...PASSING_P_CHAIN_CODES]) {
      const { kind } = after(refused(code), 1, { isPChainMessage: true });
      expect([code, kind]).toEqual([code, PASSING_P_CHAIN_CODES.includes(code) ? 'waiting' : 'failed']);
      expect(after(refused(code), 1)).toMatchObject({ kind: 'waiting' });
    }
  });

  test('a registration that is still possible is final until it expires', () => {
    const message = { isPChainMessage: true, isRegistrable: true };
    expect(after(refused(14), 1, message)).toMatchObject({ kind: 'failed', isForGood: true });
    expect(after(refused(14), 1, { isPChainMessage: true })).toMatchObject({ kind: 'waiting' });
  });

  test.each([1, 2, 3, 4])('code %i of an EVM chain may pass, whichever its VM', (code) => {
    expect(after(refused(code), 1)).toMatchObject({ kind: 'waiting' });
  });

  test('after a broken connection the next node is asked at once, and then waits for a connection to come back', () => {
    expect(after(UNREACHABLE, 1, { nodeCount: 2 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_000 });
    expect(after(UNREACHABLE, 2, { nodeCount: 2 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_300 });
    expect(after(UNREACHABLE, 3, { nodeCount: 2 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_900 });
    expect(after(UNREACHABLE, 4, { nodeCount: 2 })).toMatchObject({ kind: 'failed', failure: UNREACHABLE });
  });

  test('an invalid signature is final', () => {
    const failure: AttemptFailure = { kind: 'invalid_signature', reason: 'no point' };
    expect(after(failure, 1, { nodeCount: 2 })).toMatchObject({ kind: 'failed', failure: failure });
  });
});
