import type { AggregationEvent } from '../../api/aggregation/progress-records.ts';
import { SigningProgress, type ValidatorStatus } from '../../api/aggregation/signing-progress.ts';
import { percentOf, printable, styled } from './text.ts';

/** Limits updates for thousands of validators. */
const PAUSE_MS = 50;
const BAR_WIDTH = 40;
const SIGNED = '█';
const OPEN = '░';
const QUORUM = '┃';

/** Shows the signed and the required weight on one line of a terminal; prints nothing elsewhere. */
export class ProgressBar implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #progress = new SigningProgress();
  #shown = '';
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  say(text: string): void {
    this.#write(styled('dim', printable(text), this.#stream));
  }

  readonly onEvent = (progressed: AggregationEvent): void => {
    const { event } = progressed;
    const nowMs = performance.now();
    this.#progress.apply(progressed, nowMs);
    // An `answer` is drawn with the `progress` event that follows.
    if (event === 'answer' || event === 'result' || event === 'error') return;
    const isUrgent = event === 'resolved' || event === 'verifying';
    if (this.#progress.facts === undefined || (!isUrgent && nowMs - this.#shownMs < PAUSE_MS)) return;
    this.#shownMs = nowMs;
    this.#write(barText(this.#progress, this.#progress.facts.quorumPercentage, this.#stream));
  };

  [Symbol.dispose](): void {
    this.#write('');
  }

  #write(text: string): void {
    if (!this.#stream.isTTY || text === this.#shown) return;
    this.#shown = text;
    this.#stream.write(`\r\u001b[K${text}`);
  }
}

function barText(progress: SigningProgress, quorumPercentage: number, stream: NodeJS.WriteStream): string {
  const { signedWeight, quorumWeight, totalWeight, validators, phase } = progress;
  const cells = (weight: bigint): number =>
    totalWeight === 0n ? 0 : Number((BigInt(BAR_WIDTH) * weight) / totalWeight);
  const [filled, quorum] = [cells(signedWeight), Math.min(BAR_WIDTH - 1, cells(quorumWeight))];
  const isReached = signedWeight >= quorumWeight;
  const bar = Array.from({ length: BAR_WIDTH }, (_, cell) =>
    cell < filled ? SIGNED : cell === quorum && !isReached ? QUORUM : OPEN,
  ).join('');
  const count = (status: ValidatorStatus): number => validators.filter((one) => one.status === status).length;
  const asked = count('asked');
  const words = [
    `${percentOf(signedWeight, totalWeight)} of ${quorumPercentage} %`,
    `${count('signed')} signed`,
    ...(asked > 0 ? [`${asked} asked`] : []),
    ...(phase === 'verifying' ? ['verifying'] : []),
  ];
  return `${styled(isReached ? 'green' : 'yellow', bar, stream)} ${words.join(' · ')}`;
}
