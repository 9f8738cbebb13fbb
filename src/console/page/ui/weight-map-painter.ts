import type { ShownSet, ShownValidator, ValidatorStatus } from '../sign/signing-progress.ts';
import { missingOf, percentOf } from './figures.ts';
import { type Rectangle, squarify } from './treemap.ts';

/** Drawn beside the colour, for people who cannot tell colours apart. */
const SIGNS: Readonly<Record<ValidatorStatus, string>> = {
  signed: '✓',
  asked: '…',
  refused: '✕',
  timed_out: '?',
  unreachable: '–',
  invalid_signature: '!',
  not_asked: '',
};

const GAP = 1.5;
const FADE_MS = 280;
/** Answers that come within a few milliseconds are shown one after the other, but never later than this. */
const MAX_STAGGER_MS = 650;
const LONGEST_STEP_MS = 28;
const MIN_SIGN_SIZE = 15;
const MIN_LABEL_WIDTH = 92;
const MIN_LABEL_HEIGHT = 34;

interface Cell extends Rectangle {
  readonly validator: ShownValidator;
  shown: ValidatorStatus;
  before: ValidatorStatus;
  fromMs: number;
}

/**
 * Draws each validator as a rectangle whose area is its weight, and lights it up when its status changes. On a canvas, as thousands
 * of elements that change colour at once would hold up the page.
 */
export class WeightMapPainter {
  readonly #canvas: HTMLCanvasElement;
  readonly #isStill: boolean;
  #validators: readonly ShownValidator[] = [];
  #totalWeight = 0n;
  #cells: Cell[] = [];
  #frame = 0;
  #lastFromMs = 0;
  /** Values of variables of the style sheet. */
  readonly #styles = new Map<string, string>();

  constructor(canvas: HTMLCanvasElement, isStill: boolean) {
    this.#canvas = canvas;
    this.#isStill = isStill;
  }

  show({ validators, totalWeight }: ShownSet): void {
    const isNew = validators !== this.#validators;
    this.#validators = validators;
    this.#totalWeight = totalWeight;
    if (isNew) this.#layOut();
    else this.#noticeChanges();
    this.#requestFrame();
  }

  /** The size or the colours have changed. */
  refresh(): void {
    this.#styles.clear();
    this.#layOut();
    this.#requestFrame();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  at(x: number, y: number): ShownValidator | undefined {
    const hit = (cell: Cell) => x >= cell.x && x < cell.x + cell.width && y >= cell.y && y < cell.y + cell.height;
    return this.#cells.find(hit)?.validator;
  }

  #layOut(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    const scale = window.devicePixelRatio || 1;
    this.#canvas.width = Math.round(clientWidth * scale);
    this.#canvas.height = Math.round(clientHeight * scale);
    this.#canvas.getContext('2d')?.setTransform(scale, 0, 0, scale, 0, 0);
    const sorted = this.#validators.toSorted(byWeight);
    const weights = sorted.map(({ weight }) => Number(weight));
    this.#cells = squarify(weights, clientWidth, clientHeight).flatMap((rectangle, order) => {
      const validator = sorted[order];
      if (validator === undefined) return [];
      return [{ ...rectangle, validator, shown: validator.status, before: validator.status, fromMs: 0 }];
    });
  }

  #noticeChanges(): void {
    const nowMs = performance.now();
    const stepMs = Math.min(LONGEST_STEP_MS, MAX_STAGGER_MS / Math.max(1, this.#cells.length));
    for (const cell of this.#cells) {
      const { status } = cell.validator;
      if (status === cell.shown) continue;
      cell.before = cell.shown;
      cell.shown = status;
      // That a validator was asked is shown at once: it is the background of what comes.
      const isAnswer = status !== 'asked' && status !== 'not_asked';
      cell.fromMs = isAnswer ? Math.max(nowMs, Math.min(this.#lastFromMs + stepMs, nowMs + MAX_STAGGER_MS)) : nowMs;
      if (isAnswer) this.#lastFromMs = cell.fromMs;
    }
  }

  #requestFrame(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#frame = 0;
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    const nowMs = performance.now();
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    let isMoving = false;
    for (const cell of this.#cells) {
      const share = this.#isStill ? 1 : Math.min(1, Math.max(0, (nowMs - cell.fromMs) / FADE_MS));
      if (share < 1) isMoving = true;
      this.#drawCell(context, cell, share);
    }
    if (isMoving) this.#requestFrame();
  }

  #drawCell(context: CanvasRenderingContext2D, cell: Cell, share: number): void {
    const gap = Math.min(GAP, cell.width / 4, cell.height / 4);
    const place = { x: cell.x, y: cell.y, width: cell.width - gap, height: cell.height - gap };
    if (share < 1) this.#fill(context, place, cell.before);
    context.globalAlpha = share;
    this.#fill(context, place, cell.shown);
    context.globalAlpha = 1;
    this.#write(context, place, cell.validator, share < 0.5 ? cell.before : cell.shown);
  }

  #fill(context: CanvasRenderingContext2D, { x, y, width, height }: Rectangle, status: ValidatorStatus): void {
    context.fillStyle = this.#colour(`--cell-${status}`);
    const radius = Math.min(width, height) <= 8 ? 0 : Math.min(6, width / 5, height / 5);
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    context.fill();
  }

  #write(
    context: CanvasRenderingContext2D,
    { x, y, width, height }: Rectangle,
    validator: ShownValidator,
    status: ValidatorStatus,
  ): void {
    if (Math.min(width, height) < MIN_SIGN_SIZE) return;
    const hasLabel = width >= MIN_LABEL_WIDTH && height >= MIN_LABEL_HEIGHT;
    context.fillStyle = this.#colour(`--ink-${status}`);
    context.textBaseline = 'middle';
    context.textAlign = hasLabel ? 'left' : 'center';
    if (!hasLabel) {
      context.font = this.#font(Math.min(15, Math.min(width, height) * 0.6), 700);
      context.fillText(SIGNS[status], x + width / 2, y + height / 2 + 1);
      return;
    }
    context.font = this.#font(12, 600);
    context.fillText(`${SIGNS[status]} ${nodeLabel(validator)}`.trim(), x + 8, y + 17, width - 14);
    if (height < MIN_LABEL_HEIGHT + 14) return;
    context.font = this.#font(11, 400);
    context.fillText(this.#share(validator), x + 8, y + 34, width - 14);
  }

  /** The share of what stands for all other validators adds up to 100 % with theirs. */
  #share(validator: ShownValidator): string {
    const [weight, total] = [validator.weight, this.#totalWeight];
    return isNode(validator) ? percentOf(weight, total) : missingOf(total - weight, total, total);
  }

  #font(size: number, weight: number): string {
    return `${weight} ${size}px ${this.#style('--sans', (style) => style.getPropertyValue('--sans'))}`;
  }

  /** The variable holds two colours; only as a colour of an element it becomes the one of the scheme. */
  #colour(variable: string): string {
    return this.#style(variable, (style) => {
      this.#canvas.style.color = `var(${variable})`;
      return style.color;
    });
  }

  #style(name: string, read: (style: CSSStyleDeclaration) => string): string {
    const value = this.#styles.get(name) ?? read(getComputedStyle(this.#canvas));
    this.#styles.set(name, value);
    return value;
  }
}

/** The heaviest first; what stands for several validators last. */
function byWeight(a: ShownValidator, b: ShownValidator): number {
  if (isNode(a) !== isNode(b)) return isNode(a) ? -1 : 1;
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : a.index - b.index;
}

/** What stands for several validators has no NodeID. */
function isNode({ nodeIds }: ShownValidator): boolean {
  return nodeIds[0]?.startsWith('NodeID-') === true;
}

function nodeLabel({ nodeIds: [first = '', ...others] }: ShownValidator): string {
  if (!first.startsWith('NodeID-')) return first;
  const id = first.replace('NodeID-', '');
  return `${id.slice(0, 6)}…${id.slice(-4)}${others.length > 0 ? ` +${others.length}` : ''}`;
}
