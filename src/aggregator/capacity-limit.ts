/**
 * Where work waits for other work: for this machine, for its line to the network, or for validators that have too much of ours to
 * do. That single validators are slow makes no difference, as the quickest answer counts.
 */
export type WaitingPlace =
  /** How much later than asked for a timer runs. */
  | 'event_loop'
  /** From a question to a validator until its answer, beyond the least that this ever took. */
  | 'answers'
  /** From handing a signature to the BLS threads until it is in the sum. */
  | 'bls_add'
  /** From asking for the sum until it is there. */
  | 'bls_aggregate';

export interface CapacityLimitOptions {
  /** So many are always let in: with fewer, nothing would be measured, and a wrong measurement could stop the service. */
  readonly floor: number;
  readonly ceiling: number;
  /** What it starts with, and what it does not grow beyond unless that many are under way; the ceiling by default. */
  readonly start?: number;
}

/**
 * The longest that work may stand in line in each place. A request comes by the event loop some ten times, and by the threads
 * once for each signature and a few times for the sum: together about half a second on top of what its validators take.
 */
const TARGET_MS: Readonly<Record<WaitingPlace, number>> = {
  event_loop: 25,
  answers: 30,
  bls_add: 100,
  bls_aggregate: 100,
};
/** Long enough for some passes of a busy event loop, short enough to react several times a second. */
const WINDOW_MS = 100;
/** The effect of a cut shows after a while, and only when what was let in before has left, which may take much longer. */
const SETTLING_MS = 300;
const LEAVING_MS = 2_000;
/** At least and at most, in between as much as the wait is too long. */
const MILD_CUT = 0.7;
const HARD_CUT = 0.25;
const GROWTH = 0.05;
/** A small limit has a window or two to show what one more does. */
const LEAST_GROWTH = 0.25;
/** One client alone uses half of it: with two times as much as is used, it would never grow for that one. */
const USED_SHARE = 3;
/** Where nothing was measured for so long, nobody stands in line any more. */
const STALE_MS = 2_000;
/** The threads take their jobs in order: who waited so long saw the line stand all that time. A timer may have met a mere pause. */
const PROOF_MS = 300;

/**
 * How many aggregations the machine can have under way, learnt from how long their work waits for it. Pure: time is handed in.
 *
 * As in CoDel, only the shortest wait of a window counts: a burst, or a pause to collect garbage, passes within one, and a line
 * that does not get shorter shows in each. Where it stands for two windows, the limit falls by 30 % to 75 %, counted from what
 * is under way; while nobody stands anywhere, it grows by a twentieth in each, beyond the start only as far as it is used. So from a
 * floor of 2 to a ceiling of 256 it takes some ten seconds.
 */
export class CapacityLimit {
  readonly #options: CapacityLimitOptions;
  readonly #windows = new Map<WaitingPlace, Window>();
  #limit: number;
  #lastCutMs = Number.NEGATIVE_INFINITY;
  #growAgainFromMs = Number.NEGATIVE_INFINITY;

  constructor(options: CapacityLimitOptions) {
    this.#options = options;
    this.#limit = options.start ?? options.ceiling;
  }

  /** A whole number from the floor to the ceiling. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /**
   * @param nowMs of a monotonic clock
   * @param underWay aggregations now
   */
  observe(place: WaitingPlace, waitMs: number, nowMs: number, underWay: number): void {
    const window = this.#windows.get(place);
    // The first wait that began after a rest says nothing of the time before.
    if (window === undefined || nowMs - waitMs >= window.endsMs + STALE_MS) {
      // A line as long as a window stood for one.
      const isStanding = waitMs > Math.max(WINDOW_MS, TARGET_MS[place]);
      if (isProof(place, waitMs)) this.#cut(TARGET_MS[place] / waitMs, nowMs, underWay);
      this.#windows.set(place, { endsMs: nowMs + WINDOW_MS, shortestMs: undefined, isStanding });
      return;
    }
    window.shortestMs = Math.min(waitMs, window.shortestMs ?? waitMs);
    if (nowMs < window.endsMs) return;
    const wasStanding = window.isStanding || isProof(place, window.shortestMs);
    const ratio = TARGET_MS[place] / window.shortestMs;
    window.isStanding = window.shortestMs > TARGET_MS[place];
    window.shortestMs = undefined;
    window.endsMs = nowMs + WINDOW_MS;
    if (window.isStanding && wasStanding) this.#cut(ratio, nowMs, underWay);
    else if (!window.isStanding) this.#grow(nowMs, underWay);
  }

  #cut(ratio: number, nowMs: number, underWay: number): void {
    const sinceCutMs = nowMs - this.#lastCutMs;
    if (sinceCutMs < (underWay > this.#limit ? LEAVING_MS : SETTLING_MS)) return;
    const factor = Math.min(MILD_CUT, Math.max(HARD_CUT, ratio));
    this.#limit = Math.max(this.#options.floor, factor * Math.min(this.#limit, underWay));
    this.#lastCutMs = nowMs;
  }

  #grow(nowMs: number, underWay: number): void {
    if (nowMs < this.#growAgainFromMs) return;
    const isAnyStanding = [...this.#windows.values()].some(
      ({ isStanding, endsMs }) => isStanding && nowMs < endsMs + STALE_MS,
    );
    if (isAnyStanding) return;
    // Beyond the start, only what is used has been measured: a limit that grew while there was little to do would say nothing.
    const { ceiling, start = ceiling } = this.#options;
    const most = Math.max(Math.min(this.#limit, ceiling), start, Math.min(ceiling, USED_SHARE * underWay));
    this.#limit = Math.min(most, this.#limit + Math.max(LEAST_GROWTH, GROWTH * this.#limit));
    this.#growAgainFromMs = nowMs + WINDOW_MS;
  }
}

function isProof(place: WaitingPlace, waitMs: number): boolean {
  return (place === 'bls_add' || place === 'bls_aggregate') && waitMs > PROOF_MS;
}

interface Window {
  endsMs: number;
  /** Undefined until something was measured. */
  shortestMs: number | undefined;
  /** Whether work stood in line in the window before. */
  isStanding: boolean;
}
