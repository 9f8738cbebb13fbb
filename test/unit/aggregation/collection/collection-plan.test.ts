import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planCollection, planProbes } from '../../../../src/aggregation/collection/collection-plan.ts';
import { createTally } from '../../../../src/aggregation/collection/tally.ts';
import { UNTRIED, type ValidatorState } from '../../../../src/aggregation/collection/validator-state.ts';
import type { ValidatorForecast } from '../../../../src/aggregation/validators/validator-forecast.ts';
import type { AttemptFailure } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { setOf, stateOf, UNKNOWN } from './tally-fixture.ts';

const LIMITS = { reconnectGraceMs: 1_000, maxConcurrentQueries: 4 };
const SIGNED = stateOf({ kind: 'signed', signature: new Uint8Array(96) });
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

const failure = fc.constantFrom(REFUSED, UNREACHABLE, TIMED_OUT);
const progress = fc.oneof(
  fc.constant<ValidatorState>(UNTRIED),
  fc
    .record({ notBeforeMs: nearNow(0, 300, -1_000, -5_000), attempts: fc.integer({ min: 1, max: 5 }), failure })
    .map(({ notBeforeMs, attempts, failure }): ValidatorState => {
      const refusal = failure === REFUSED ? failure : undefined;
      return { kind: 'waiting', notBeforeMs, attempts, timeouts: 0, failure, refusal };
    }),
  nearNow(0).map((lateAtMs) => stateOf({ kind: 'asking', lateAtMs })),
  fc.constant(stateOf({ kind: 'queued' })),
  fc.constant(stateOf({ kind: 'answered' })),
  fc.constant(SIGNED),
  fc.boolean().map((isForGood) => stateOf({ kind: 'failed', failure: REFUSED, refusal: REFUSED, isForGood })),
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

const PLAIN = { isCautious: false };

function plan({ tally, validators, connectDeadlineMs, mayRepeat, limits }: State) {
  const isConnected = ({ index }: { index: number }) => validators[index]?.isConnected === true;
  return planCollection(tally, { nowMs: NOW, isConnected, connectDeadlineMs, mayRepeat, limits, ...PLAIN });
}

/** What the rules say of one validator, written down a second time. */
function stand({ validators, connectDeadlineMs, mayRepeat }: State, index: number) {
  const { progress, isConnected, forecast } = validators[index] as State['validators'][number];
  const isWaiting = progress.kind === 'waiting';
  const isDue = isWaiting && progress.notBeforeMs <= NOW;
  const graceMs = isWaiting && progress.failure?.kind === 'unreachable' ? progress.notBeforeMs + 1_000 : 0;
  const mayConnect = NOW < connectDeadlineMs || NOW < graceMs;
  const isFresh = progress.kind === 'queued' || (progress.kind === 'asking' && NOW < progress.lateAtMs);
  const isAsking = progress.kind === 'asking' || progress.kind === 'queued';
  const hasRefused = progress.refusal !== undefined;
  const isLastResort = isWaiting && progress.failure?.kind === 'timed_out' && forecast.kind !== 'avoided';
  const maySign = isAsking || progress.kind === 'answered' || (isWaiting && (!isDue || isConnected || mayConnect));
  const isWorthIt = !isLastResort && !(hasRefused && progress.attempts > 3);
  return {
    forecast,
    hasRefused,
    isLastResort,
    mayBeAsked: isDue && isConnected && (mayRepeat || !hasRefused),
    isInTime: isFresh || progress.kind === 'answered',
    isDueNow: isFresh,
    isForGood: progress.kind === 'failed' && progress.isForGood,
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

type Ask = Extract<ReturnType<typeof plan>, { kind: 'ask' }>;

test('any plan keeps the rules', () => {
  fc.assert(
    fc.property(state, (state) => {
      const planned = plan(state);
      expectKind(state, planned);
      const asked = planned.kind === 'ask' ? planned.validators : [];
      if (planned.kind === 'ask') expectAllowed(state, planned);
      // Otherwise answers are awaited that can make a refusal final.
      const isInReach =
        state.tally.signedWeight + weightOf(state, ({ maySign }) => maySign) >= state.tally.neededWeight;
      if (isInReach && (planned.kind === 'ask' || planned.kind === 'pending')) expectBestFirst(state, asked);
      if ('wakeAtMs' in planned) expectWake(state, planned.wakeAtMs, asked);
    }),
    { numRuns: 3_000 },
  );
});

function expectKind(state: State, planned: ReturnType<typeof plan>): void {
  const { tally } = state;
  const possible = tally.signedWeight + weightOf(state, (validator) => validator.maySign);
  const isNothingToCome = weightOf(state, (validator) => validator.isAwaited) === 0n;
  // Out of reach exactly if all that may still come is too little, unless what is due can make the refusal final.
  if (planned.kind === 'out of reach') expect(possible).toBeLessThan(tally.neededWeight);
  else if (possible < tally.neededWeight) {
    const { totalWeight } = tally.warpSet;
    const forGood = weightOf(state, ({ isForGood }) => isForGood);
    expect(planned).toMatchObject({ kind: 'pending', isIdle: false });
    expect(forGood > 0n && totalWeight - forGood >= tally.neededWeight).toBe(true);
    expect(totalWeight - forGood - weightOf(state, ({ isDueNow }) => isDueNow)).toBeLessThan(tally.neededWeight);
    return;
  }
  // Not yet only if no answer is due, and those that have not refused are too few.
  if (planned.kind === 'not yet') {
    expect(weightOf(state, ({ isInTime }) => isInTime)).toBe(0n);
    const others = weightOf(state, (one) => one.maySign && !one.hasRefused && one.forecast.kind !== 'avoided');
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

function expectAllowed(state: State, planned: Ask): void {
  // Only those are asked that may be: connected, due, and neither asked, signed nor failed.
  const asked = new Set(planned.validators.map(({ index }) => index));
  expect(asked.size).toBe(planned.validators.length);
  for (const index of asked) expect(stand(state, index).mayBeAsked).toBe(true);
}

function expectBestFirst(state: State, chosen: Ask['validators']): void {
  const { tally, limits, validators } = state;
  const asked = new Set(chosen.map(({ index }) => index));
  const holdsBack = isUnsigned(state) && tally.states.some(({ refusal }) => refusal !== undefined);
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
  const last = chosen.at(-1)?.index ?? -1;
  const left = [...validators.keys()].filter((index) => stand(state, index).mayBeAsked && !asked.has(index));
  const countedOn = tally.signedWeight + weightOf(state, (validator) => validator.isCountedOn);
  const withAsked = chosen.reduce((sum, { index }) => sum + countsAs(index), countedOn);
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

function expectWake(state: State, wakeAtMs: number, chosen: Ask['validators']): void {
  const { validators } = state;
  const asked = new Set(chosen.map(({ index }) => index));
  // It wakes later than now, and no later than anything that time alone changes.
  expect(wakeAtMs).toBeGreaterThan(NOW);
  for (const [index, { progress, isConnected, forecast }] of validators.entries()) {
    const { isCountedOn, maySign } = stand(state, index);
    if (asked.has(index)) expect(wakeAtMs).toBeLessThanOrEqual(NOW + forecast.hedgeAfterMs);
    if (progress.kind === 'asking' && isCountedOn) {
      expect(wakeAtMs).toBeLessThanOrEqual(progress.lateAtMs);
    }
    if (progress.kind !== 'waiting' || !maySign) continue;
    if (progress.notBeforeMs > NOW) expect(wakeAtMs).toBeLessThanOrEqual(progress.notBeforeMs);
    else if (!isConnected) {
      const graceMs = progress.failure?.kind === 'unreachable' ? progress.notBeforeMs + 1_000 : 0;
      expect(wakeAtMs).toBeLessThanOrEqual(Math.max(state.connectDeadlineMs, graceMs));
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
  tally.set(1, stateOf({ kind: 'waiting', notBeforeMs: 0, failure: REFUSED, refusal: REFUSED }));
  tally.set(2, stateOf({ kind: 'asking', lateAtMs: NOW - 1 }));
  const times = { nowMs: NOW, connectDeadlineMs: 0, mayRepeat: false };
  const planned = planCollection(tally, { ...PLAIN, ...times, isConnected: () => true, limits: LIMITS });
  expect(planned).toMatchObject({ kind: 'pending' });
});

test('a quorum that needs a validator that refuses is not yet there, though an avoided one could bring it', () => {
  const avoided: ValidatorForecast = { ...UNKNOWN, kind: 'avoided', rank: 9 };
  const tally = createTally(setOf([9n, 9n]), { quorumNum: 50n, quorumBuffer: 0n, forecasts: [UNKNOWN, avoided] });
  tally.set(0, stateOf({ kind: 'waiting', notBeforeMs: 0, failure: REFUSED, refusal: REFUSED }));
  const view = { nowMs: NOW, connectDeadlineMs: 0, mayRepeat: false, isConnected: () => true, limits: LIMITS };
  expect(planCollection(tally, { ...PLAIN, ...view })).toMatchObject({ kind: 'not yet' });
});

describe('probes', () => {
  const warpSet = setOf([50n, 40n, 30n, 20n, 10n]);
  const view = { nowMs: NOW, isConnected: () => true };

  function createRefused(attempts: readonly number[]) {
    const forecasts = warpSet.validators.map(() => UNKNOWN);
    const tally = createTally(warpSet, { quorumNum: 67n, quorumBuffer: 0n, forecasts });
    for (const [index, count] of attempts.entries()) {
      const refused = { failure: REFUSED, refusal: REFUSED, attempts: count, timeouts: 0 };
      tally.set(index, { kind: 'waiting', notBeforeMs: NOW, ...refused });
    }
    return tally;
  }
  const indices = (tally: ReturnType<typeof createRefused>, more = {}) =>
    planProbes(tally, { ...view, ...more }).map(({ index }) => index);

  test('are two of those asked least often, far apart in weight, while none has signed', () => {
    expect(indices(createRefused([1, 1, 1, 1, 1]))).toEqual([0, 2]);
    expect(indices(createRefused([2, 1, 2, 1, 1]))).toEqual([1, 3]);
    expect(indices(createRefused([2, 2, 2, 2, 1]))).toEqual([4, 0]);
  });

  test('are fewer while some are being asked, and none before their time or without a connection', () => {
    const tally = createRefused([1, 1, 1, 1, 1]);
    tally.set(0, { kind: 'asking', lateAtMs: NOW + 1, attempts: 2, timeouts: 0, refusal: REFUSED });
    expect(indices(tally)).toHaveLength(1);
    expect(indices(tally, { nowMs: NOW - 1 })).toEqual([]);
    expect(indices(tally, { isConnected: () => false })).toEqual([]);
  });

  test('are all that lag once some have signed', () => {
    const tally = createRefused([1, 1, 1, 1, 1]);
    tally.set(2, SIGNED);
    expect(indices(tally)).toEqual([0, 1, 3, 4]);
  });
});
