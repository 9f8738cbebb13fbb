import type { ProgressEvent, ProgressState } from '../../aggregation/collection/progress.ts';
import type { AttemptOutcome } from '../../aggregation/validators/validator-outcome.ts';
import { presentWhy } from '../errors/aggregation-details.ts';
import type { AggregationEvent, AggregationEventData } from './progress-records.ts';

type StreamedRequest = Pick<
  AggregationEventData['resolved'],
  'network' | 'quorumPercentage' | 'quorumPercentageBuffer'
>;
type Weights = Pick<ProgressState, 'neededWeight' | 'targetWeight' | 'totalWeight'>;

/**
 * Merges progress until it is taken: at most one event of a kind. A client that gets merged events has the same state as one that gets
 * each.
 *
 * Bound: the last state, which all streams of the collection share, and two small entries for each validator: 20 KB for 2,000 of them.
 */
export class MergedProgress {
  readonly #request: StreamedRequest;
  /** Replaces all earlier events. */
  #state: ProgressState | undefined;
  #weights: Weights | undefined;
  #validatorWeights: readonly bigint[] = [];
  #asked: (true | undefined)[] = [];
  #outcomes: (AttemptOutcome | undefined)[] = [];
  #signedWeight: bigint | undefined;
  #isVerifying = false;

  constructor(request: StreamedRequest) {
    this.#request = { ...request };
  }

  /** To be set before the first state is taken, if the request left the quorum to its destination. */
  set quorumPercentage(quorumPercentage: number) {
    this.#request.quorumPercentage = quorumPercentage;
  }

  add(event: ProgressEvent): void {
    switch (event.kind) {
      case 'state': {
        const { state } = event;
        this.#forget();
        this.#state = state;
        this.#weights = state;
        this.#validatorWeights = state.validators.map(({ weight }) => weight);
        return;
      }
      case 'asked':
        // The outcome of an earlier attempt no longer counts.
        this.#outcomes[event.index] = undefined;
        this.#asked[event.index] = true;
        return;
      case 'outcome':
        this.#outcomes[event.index] = event.outcome;
        this.#signedWeight = event.signedWeight;
        return;
      case 'verifying':
        this.#isVerifying = true;
    }
  }

  /** Returns the merged events, and starts again with none. */
  take(): AggregationEvent[] {
    const events = [...this.#events()];
    this.#forget();
    return events;
  }

  *#events(): Generator<AggregationEvent> {
    if (this.#state !== undefined) yield { event: 'resolved', data: presentState(this.#state, this.#request) };
    if (this.#asked.length > 0) yield { event: 'asked', data: { validators: [...indicesOf(this.#asked)] } };
    const answers = [...indicesOf(this.#outcomes)].map((index) => this.#presentAnswer(index));
    if (answers.length > 0) yield { event: 'answer', data: { answers } };
    if (this.#signedWeight !== undefined && this.#weights !== undefined) {
      yield { event: 'progress', data: presentProgress(this.#signedWeight, this.#weights) };
    }
    if (this.#isVerifying) yield { event: 'verifying', data: {} };
  }

  #presentAnswer(index: number): AggregationEventData['answer']['answers'][number] {
    const outcome = this.#outcomes[index] as AttemptOutcome;
    return { index, weight: String(this.#validatorWeights[index]), outcome: outcome.kind, ...presentWhy(outcome) };
  }

  #forget(): void {
    this.#state = undefined;
    this.#asked = [];
    this.#outcomes = [];
    this.#signedWeight = undefined;
    this.#isVerifying = false;
  }
}

function* indicesOf(entries: readonly unknown[]): Generator<number> {
  for (const [index, entry] of entries.entries()) if (entry !== undefined) yield index;
}

/** All streams of a collection share it: it has some 300 KB of JSON for 2,000 validators. */
const presented = new WeakMap<ProgressState, AggregationEventData['resolved']>();

function presentState(state: ProgressState, request: StreamedRequest): AggregationEventData['resolved'] {
  const known = presented.get(state);
  // Requests that share a collection agree in these.
  if (known !== undefined) return known;
  const { totalWeight, neededWeight, targetWeight, signedWeight } = state;
  const data: AggregationEventData['resolved'] = {
    network: request.network,
    signingSubnetId: state.signingSubnetID,
    pChainHeight: Number(state.pChainHeight),
    quorumPercentage: request.quorumPercentage,
    quorumPercentageBuffer: request.quorumPercentageBuffer,
    ...presentProgress(signedWeight, { totalWeight, neededWeight, targetWeight }),
    isVerifying: state.isVerifying,
    validators: state.validators.map(({ index, nodeIDs, weight, isConnected, status, outcome }) => ({
      index,
      nodeIds: [...nodeIDs],
      weight: String(weight),
      isConnected,
      status,
      ...(outcome && presentWhy(outcome)),
    })),
  };
  presented.set(state, data);
  return data;
}

function presentProgress(
  signedWeight: bigint,
  { neededWeight, targetWeight, totalWeight }: Weights,
): AggregationEventData['progress'] {
  return {
    signedWeight: String(signedWeight),
    quorumWeight: String(neededWeight),
    targetWeight: String(targetWeight),
    totalWeight: String(totalWeight),
  };
}
