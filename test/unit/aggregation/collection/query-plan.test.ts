import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CollectionState } from '../../../../src/aggregation/collection/collection-state.ts';
import { afterFailure, planQueries, type QueryLimits } from '../../../../src/aggregation/collection/query-plan.ts';
import { createTally, type ValidatorState } from '../../../../src/aggregation/collection/tally.ts';
import type { ValidatorForecast } from '../../../../src/aggregation/validators/validator-forecast.ts';
import type { AttemptFailure } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { setOf, UNKNOWN } from './tally-fixture.ts';

const LIMITS: QueryLimits = {
  refusalDelaysMs: [50, 100, 400],
  unreachableDelaysMs: [300, 900],
  reconnectGraceMs: 1_000,
  maxConcurrentQueries: 4,
};
const SIGNED: ValidatorState = { kind: 'signed', signature: new Uint8Array(96) };
const FINAL_P_CHAIN_CODES = [1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17];
/** 6: not converted yet, 11: does not exist yet, 12: still exists, 14: may still be registered, 16: the nonce is not reached yet. */
const PASSING_P_CHAIN_CODES = [6, 11, 12, 14, 16];
const REFUSED: AttemptFailure = { kind: 'refused', code: 2, text: '' };
const UNREACHABLE: AttemptFailure = { kind: 'unreachable', reason: 'closed' };
const TIMED_OUT: AttemptFailure = { kind: 'timed_out', reason: 'no_answer' };

const forecast = fc.constantFrom<ValidatorForecast>(
  UNKNOWN,
  { ...UNKNOWN, hedgeAfterMs: 120, rank: 2 },
  { ...UNKNOWN, kind: 'doubtful', rank: 3 },
  { ...UNKNOWN, kind: 'on trial', rank: 0 },
  { ...UNKNOWN, kind: 'invalid signer', rank: 4 },
  { ...UNKNOWN, kind: 'avoided', rank: 9 },
);

const NOW = 10_000;
/** Times on both sides of every limit, and right on it. */
const nearNow = (...offsets: number[]) =>
  fc.constantFrom(...offsets.flatMap((at) => [at - 1, at, at + 1]).map((at) => NOW + at));

const progress = fc.oneof(
  fc.constant<ValidatorState>({ kind: 'waiting', notBeforeMs: 0, attempts: 0 }),
  fc.record({
    kind: fc.constant('waiting' as const),
    notBeforeMs: nearNow(0, 300, -1_000, -5_000),
    attempts: fc.integer({ min: 1, max: 5 }),
    lastFailure: fc.constantFrom(REFUSED, UNREACHABLE, TIMED_OUT),
  }),
  fc.record({
    kind: fc.constant('asking' as const),
    lateAtMs: nearNow(0),
    attempts: fc.constant(1),
  }),
  fc.constant<ValidatorState>({ kind: 'queued', attempts: 1 }),
  fc.constant<ValidatorState>({ kind: 'answered' }),
  fc.constant(SIGNED),
  fc.constant<ValidatorState>({ kind: 'failed', failure: REFUSED }),
);

const state = fc
  .record({
    validators: fc.array(
      fc.record({
        weight: fc.oneof(fc.bigInt(1n, 20n), fc.constant(2n ** 60n)),
        progress,
        isConnected: fc.boolean(),
        forecast,
      }),
      { minLength: 1, maxLength: 8 },
    ),
    keyless: fc.bigInt(0n, 20n),
    quorum: fc.integer({ min: 0, max: 100 }),
    bufferShare: fc.integer({ min: 0, max: 100 }),
    connectDeadlineMs: nearNow(0, 700, -2_000),
    mayRepeat: fc.boolean(),
    maxConcurrentQueries: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ validators, quorum, bufferShare, ...rest }) => {
    const warpSet = setOf(
      validators.map(({ weight }) => weight),
      rest.keyless,
    );
    const tally = createTally(warpSet, {
      quorumNum: BigInt(quorum),
      quorumBuffer: BigInt(Math.floor(((100 - quorum) * bufferShare) / 100)),
      forecasts: validators.map(({ forecast }) => forecast),
    });
    for (const [index, validator] of validators.entries()) tally.set(index, validator.progress);
    return { ...rest, validators, tally, limits: { ...LIMITS, maxConcurrentQueries: rest.maxConcurrentQueries } };
  });

type State = typeof state extends fc.Arbitrary<infer T> ? T : never;

const PLAIN = { isCautious: false, isPChainMessage: false, connectionChanges: 0 };

function plan({ tally, validators, connectDeadlineMs, mayRepeat, limits }: State) {
  const isConnected = ({ index }: { index: number }) => validators[index]?.isConnected === true;
  const view = { nowMs: NOW, isConnected, connectDeadlineMs, mayRepeat, ...PLAIN };
  return planQueries(tally, view, limits);
}

/** What the rules say of one validator, written down a second time. */
function stand({ validators, connectDeadlineMs, mayRepeat }: State, index: number) {
  const { progress, isConnected, forecast } = validators[index] as State['validators'][number];
  const isWaiting = progress.kind === 'waiting';
  const isDue = isWaiting && progress.notBeforeMs <= NOW;
  const graceMs = isWaiting && progress.lastFailure?.kind === 'unreachable' ? progress.notBeforeMs + 1_000 : 0;
  const mayConnect = NOW < connectDeadlineMs || NOW < graceMs;
  const isFresh = progress.kind === 'queued' || (progress.kind === 'asking' && NOW < progress.lateAtMs);
  const isAsking = progress.kind === 'asking' || progress.kind === 'queued';
  const hasRefused = isWaiting && progress.lastFailure?.kind === 'refused';
  const isLastResort = isWaiting && progress.lastFailure?.kind === 'timed_out' && forecast.kind !== 'avoided';
  const maySign = isAsking || progress.kind === 'answered' || (isWaiting && (!isDue || isConnected || mayConnect));
  const isWorthIt = !isLastResort && !(hasRefused && progress.attempts > 3);
  return {
    forecast,
    hasRefused,
    isLastResort,
    mayBeAsked: isDue && isConnected && (mayRepeat || !hasRefused),
    isInTime: isFresh || progress.kind === 'answered',
    maySign,
    isAwaited:
      isWorthIt &&
      ((maySign && (progress.kind === 'answered' || forecast.kind === 'expected')) ||
        (forecast.kind === 'on trial' && (isFresh || (isDue && isConnected)))),
    isCountedOn:
      progress.kind === 'answered' || (isFresh && ['expected', 'invalid signer', 'avoided'].includes(forecast.kind)),
    isAsking,
  };
}

function weightOf(state: State, condition: (validator: ReturnType<typeof stand>) => boolean): bigint {
  return state.validators.reduce((sum, { weight }, i) => (condition(stand(state, i)) ? sum + weight : sum), 0n);
}

type GoOn = Extract<ReturnType<typeof plan>, { kind: 'go on' }>;

test('any plan keeps the rules', () => {
  fc.assert(
    fc.property(state, (state) => {
      const planned = plan(state);
      expectKind(state, planned);
      if (planned.kind !== 'go on') return;
      expectAllowed(state, planned);
      expectBestFirst(state, planned);
      expectWake(state, planned);
    }),
    { numRuns: 3_000 },
  );
});

function expectKind(state: State, planned: ReturnType<typeof plan>): void {
  const { tally } = state;
  const possible = tally.signedWeight + weightOf(state, (validator) => validator.maySign);
  const isNothingToCome = weightOf(state, (validator) => validator.isAwaited) === 0n;
  // Out of reach exactly if all that may still come is too little.
  expect(planned.kind === 'out of reach').toBe(possible < tally.neededWeight);
  // Not yet only if no answer is due, and those that have not refused are too few.
  if (planned.kind === 'not yet') {
    expect(weightOf(state, ({ isInTime }) => isInTime)).toBe(0n);
    const others = weightOf(state, ({ maySign, hasRefused }) => maySign && !hasRefused);
    expect(tally.signedWeight + others).toBeLessThan(tally.neededWeight);
    const all = [...state.validators.keys()].map((index) => stand(state, index));
    const isFull = all.filter(({ isAsking }) => isAsking).length >= state.maxConcurrentQueries;
    expect(
      isUnsigned(state) ||
        isFull ||
        all.every(({ mayBeAsked, forecast }) => !mayBeAsked || forecast.kind === 'avoided'),
    ).toBe(true);
  }
  // Enough exactly if the target is reached, or the quorum is and nothing more is worth waiting for.
  expect(planned.kind === 'enough').toBe(
    tally.signedWeight >= tally.targetWeight || (tally.signedWeight >= tally.neededWeight && isNothingToCome),
  );
}

function expectAllowed(state: State, planned: GoOn): void {
  // Only those are asked that may be: connected, due, and neither asked, signed nor failed.
  const asked = new Set(planned.ask.map(({ index }) => index));
  expect(asked.size).toBe(planned.ask.length);
  for (const index of asked) expect(stand(state, index).mayBeAsked).toBe(true);
}

function expectBestFirst(state: State, planned: GoOn): void {
  const { tally, limits, validators } = state;
  const asked = new Set(planned.ask.map(({ index }) => index));
  const holdsBack = isUnsigned(state) && tally.refusals.some((refusal) => refusal !== undefined);
  // The heaviest of the best rank, no more than are missing, and no fewer unless that many are asked already.
  const at = (index: number) => validators[index] as State['validators'][number];
  const comesBefore = (a: number, b: number): boolean =>
    stand(state, a).isLastResort === stand(state, b).isLastResort
      ? at(a).forecast.rank < at(b).forecast.rank ||
        (at(a).forecast.rank === at(b).forecast.rank && at(a).weight > at(b).weight)
      : stand(state, b).isLastResort;
  const countsAs = (index: number): bigint =>
    ['expected', 'invalid signer', 'avoided'].includes(at(index).forecast.kind) ? at(index).weight : 0n;
  const reachable =
    tally.signedWeight + weightOf(state, (one) => one.maySign && one.forecast.kind !== 'avoided' && !one.isLastResort);
  // Invalid signers are not asked for a buffer, and avoided validators for nothing that the others may sign.
  const goalFor = (index: number): bigint => {
    const { kind } = at(index).forecast;
    if (kind === 'avoided' && reachable >= tally.neededWeight) return 0n;
    const isForQuorumOnly = kind === 'invalid signer' || kind === 'avoided' || stand(state, index).isLastResort;
    return isForQuorumOnly ? tally.neededWeight : tally.targetWeight;
  };
  const last = planned.ask.at(-1)?.index ?? -1;
  const left = [...validators.keys()].filter((index) => stand(state, index).mayBeAsked && !asked.has(index));
  const countedOn = tally.signedWeight + weightOf(state, (validator) => validator.isCountedOn);
  const withAsked = planned.ask.reduce((sum, { index }) => sum + countsAs(index), countedOn);
  const inFlight = validators.filter((_, index) => stand(state, index).isAsking).length + asked.size;
  if (asked.size > 0) {
    if (!holdsBack) expect(left.every((index) => !comesBefore(index, last) || goalFor(index) === 0n)).toBe(true);
    expect(withAsked - countsAs(last) < goalFor(last)).toBe(true);
    expect(inFlight <= limits.maxConcurrentQueries).toBe(true);
  }
  const isFull = inFlight >= limits.maxConcurrentQueries;
  const mayHoldBack = isFull || holdsBack;
  expect(mayHoldBack || left.every((index) => withAsked >= goalFor(index))).toBe(true);
}

function expectWake(state: State, planned: GoOn): void {
  const { validators } = state;
  const asked = new Set(planned.ask.map(({ index }) => index));
  // It wakes later than now, and no later than anything that time alone changes.
  expect(planned.wakeAtMs).toBeGreaterThan(NOW);
  for (const [index, { progress, isConnected, forecast }] of validators.entries()) {
    const { isCountedOn, maySign } = stand(state, index);
    if (asked.has(index)) expect(planned.wakeAtMs).toBeLessThanOrEqual(NOW + forecast.hedgeAfterMs);
    if (progress.kind === 'asking' && isCountedOn) {
      expect(planned.wakeAtMs).toBeLessThanOrEqual(progress.lateAtMs);
    }
    if (progress.kind !== 'waiting' || !maySign) continue;
    if (progress.notBeforeMs > NOW) expect(planned.wakeAtMs).toBeLessThanOrEqual(progress.notBeforeMs);
    else if (!isConnected) {
      const graceMs = progress.lastFailure?.kind === 'unreachable' ? progress.notBeforeMs + 1_000 : 0;
      expect(planned.wakeAtMs).toBeLessThanOrEqual(Math.max(state.connectDeadlineMs, graceMs));
    }
  }
}

/** Whether no validator has signed or answered yet. */
function isUnsigned({ tally, validators }: State): boolean {
  return tally.signedWeight === 0n && !validators.some(({ progress }) => progress.kind === 'answered');
}

test('an avoided validator is not asked while a late one may give the quorum, though another avoided one refuses', () => {
  const avoided: ValidatorForecast = { ...UNKNOWN, kind: 'avoided', rank: 9 };
  const warpSet = setOf([1n, 10n, 10n]);
  const forecasts = [avoided, avoided, UNKNOWN];
  const tally = createTally(warpSet, { quorumNum: 40n, quorumBuffer: 0n, forecasts });
  tally.set(1, { kind: 'waiting', notBeforeMs: 0, attempts: 1, lastFailure: REFUSED });
  tally.set(2, { kind: 'asking', lateAtMs: NOW - 1, attempts: 1 });
  const times = { nowMs: NOW, connectDeadlineMs: 0, mayRepeat: false };
  const planned = planQueries(tally, { ...PLAIN, ...times, isConnected: () => true }, LIMITS);
  expect(planned).toMatchObject({ kind: 'go on', ask: [] });
});

test('a plan from the sums of earlier plans is the plan from all states', () => {
  const step = fc.record({
    position: fc.nat(),
    progress,
    isConnected: fc.boolean(),
    passedMs: fc.nat(700),
    isCautious: fc.boolean(),
  });
  fc.assert(
    fc.property(state, fc.array(step, { maxLength: 15 }), ({ tally, validators, limits, ...times }, steps) => {
      const collection = new CollectionState(tally);
      const connected = validators.map(({ isConnected }) => isConnected);
      let [nowMs, connectionChanges] = [NOW, 0];
      for (const { position, progress, passedMs, isCautious, ...after } of steps) {
        const index = position % validators.length;
        tally.set(index, progress);
        if (connected[index] !== after.isConnected) connectionChanges += 1;
        connected[index] = after.isConnected;
        nowMs += passedMs;
        const isConnected = ({ index }: { index: number }) => connected[index] === true;
        const view = { ...PLAIN, ...times, nowMs, isConnected, connectionChanges, isCautious };
        expect(planQueries(tally, view, limits, collection)).toEqual(planQueries(tally, view, limits));
      }
    }),
    { numRuns: 1_000 },
  );
});

describe('afterFailure', () => {
  const after = (
    failure: AttemptFailure,
    attempts: number,
    { nodeCount = 1, timeouts = 0, isPChainMessage = false } = {},
  ): ValidatorState => afterFailure(failure, { attempts, timeouts, nodeCount, nowMs: 1_000, isPChainMessage }, LIMITS);
  const refused = (code: number): AttemptFailure => ({ kind: 'refused', code, text: 'text' });
  const failed = (failure: AttemptFailure): ValidatorState => ({ kind: 'failed', failure });

  test('a refusal is tried again after each delay, and then after the last one', () => {
    const failure = refused(2);
    for (const [attempts, notBeforeMs] of [1_050, 1_100, 1_400, 1_400, 1_400].entries()) {
      expect(after(failure, attempts + 1)).toEqual({
        kind: 'waiting',
        notBeforeMs,
        attempts: attempts + 1,
        lastFailure: failure,
      });
    }
  });

  test('a validator that timed out is asked once more than it has nodes', () => {
    expect(after(TIMED_OUT, 1, { timeouts: 1 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_000 });
    expect(after(TIMED_OUT, 2, { timeouts: 2 })).toEqual(failed(TIMED_OUT));
    expect(after(TIMED_OUT, 2, { timeouts: 2, nodeCount: 2 })).toMatchObject({ kind: 'waiting' });
    expect(after(TIMED_OUT, 3, { timeouts: 3, nodeCount: 2 })).toEqual(failed(TIMED_OUT));
  });

  test('codes of the P-Chain are final there where no block can change them, and are other codes elsewhere', () => {
    for (const code of [...FINAL_P_CHAIN_CODES, ...PASSING_P_CHAIN_CODES]) {
      const { kind } = after(refused(code), 1, { isPChainMessage: true });
      expect([code, kind]).toEqual([code, PASSING_P_CHAIN_CODES.includes(code) ? 'waiting' : 'failed']);
      expect(after(refused(code), 1)).toMatchObject({ kind: 'waiting' });
    }
  });

  test.each([1, 2, 3, 4])('code %i of an EVM chain may pass, whichever its VM', (code) => {
    expect(after(refused(code), 1)).toMatchObject({ kind: 'waiting' });
  });

  test('after a broken connection the next node is asked at once, and then waits for a connection to come back', () => {
    expect(after(UNREACHABLE, 1, { nodeCount: 2 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_000 });
    expect(after(UNREACHABLE, 2, { nodeCount: 2 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_300 });
    expect(after(UNREACHABLE, 3, { nodeCount: 2 })).toMatchObject({ kind: 'waiting', notBeforeMs: 1_900 });
    expect(after(UNREACHABLE, 4, { nodeCount: 2 })).toEqual(failed(UNREACHABLE));
  });

  test('an invalid signature is final', () => {
    const failure: AttemptFailure = { kind: 'invalid_signature', reason: 'no point' };
    expect(after(failure, 1, { nodeCount: 2 })).toEqual(failed(failure));
  });
});
