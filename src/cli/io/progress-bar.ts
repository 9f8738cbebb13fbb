import type {
  AggregationEvent,
  AggregationEventData,
  ValidatorRecord,
} from '../../api/aggregation/progress-records.ts';
import { percentOf, printable, styled } from './text.ts';

type ResolvedData = AggregationEventData['resolved'];

/** Limits updates for thousands of validators. */
const PAUSE_MS = 50;
const BAR_WIDTH = 40;
const SIGNED = '█';
const OPEN = '░';
const QUORUM = '┃';

/** Shows the signed and the required weight on one line of a terminal; prints nothing elsewhere. */
export class ProgressBar implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  #state: ResolvedData | undefined;
  #validators: ValidatorRecord[] = [];
  #shown = '';
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  say(text: string): void {
    this.#write(styled('dim', printable(text), this.#stream));
  }

  readonly onEvent = (event: AggregationEvent): void => {
    switch (event.event) {
      case 'resolved':
        this.#state = event.data;
        this.#validators = [...event.data.validators];
        break;
      case 'asked':
        for (const index of event.data.validators) this.#set(index, 'asked');
        break;
      case 'answer':
        for (const { index, outcome } of event.data.answers) this.#set(index, outcome);
        // Drawn with the `progress` event that follows.
        return;
      case 'progress':
        if (this.#state !== undefined) this.#state = { ...this.#state, ...event.data };
        break;
      case 'verifying':
        if (this.#state !== undefined) this.#state = { ...this.#state, isVerifying: true };
        break;
      case 'result':
      case 'error':
        return;
    }
    this.#show(event.event === 'resolved' || event.event === 'verifying');
  };

  [Symbol.dispose](): void {
    this.#write('');
  }

  #set(index: number, status: ValidatorRecord['status']): void {
    const known = this.#validators[index];
    if (known !== undefined) this.#validators[index] = { ...known, status };
  }

  #show(isUrgent: boolean): void {
    const nowMs = performance.now();
    if (this.#state === undefined || (!isUrgent && nowMs - this.#shownMs < PAUSE_MS)) return;
    this.#shownMs = nowMs;
    this.#write(barText(this.#state, this.#validators, this.#stream));
  }

  #write(text: string): void {
    if (!this.#stream.isTTY || text === this.#shown) return;
    this.#shown = text;
    this.#stream.write(`\r\u001b[K${text}`);
  }
}

function barText(state: ResolvedData, validators: readonly ValidatorRecord[], stream: NodeJS.WriteStream): string {
  const [signed, total] = [BigInt(state.signedWeight), BigInt(state.totalWeight)];
  const cells = (weight: bigint): number => (total === 0n ? 0 : Number((BigInt(BAR_WIDTH) * weight) / total));
  const [filled, quorum] = [cells(signed), Math.min(BAR_WIDTH - 1, cells(BigInt(state.quorumWeight)))];
  const isReached = signed >= BigInt(state.quorumWeight);
  const bar = Array.from({ length: BAR_WIDTH }, (_, cell) =>
    cell < filled ? SIGNED : cell === quorum && !isReached ? QUORUM : OPEN,
  ).join('');
  const count = (status: ValidatorRecord['status']): number => validators.filter((one) => one.status === status).length;
  const asked = count('asked');
  const words = [
    `${percentOf(signed, total)} of ${state.quorumPercentage} %`,
    `${count('signed')} signed`,
    ...(asked > 0 ? [`${asked} asked`] : []),
    ...(state.isVerifying ? ['verifying'] : []),
  ];
  return `${styled(isReached ? 'green' : 'yellow', bar, stream)} ${words.join(' · ')}`;
}
