import type { ShownValidator, SigningProgress, ValidatorStatus } from '../sign/signing-progress.ts';
import { missingOf, percentOf } from './figures.ts';
import { squarify } from './treemap.ts';

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

interface Cell {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
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
  #progress: SigningProgress | undefined;
  #generation = -1;
  #cells: Cell[] = [];
  #byIndex: (Cell | undefined)[] = [];
  #frame = 0;
  #lastFromMs = 0;
  #width = 0;
  #height = 0;
  /** Values of variables of the style sheet. */
  #styles = new Map<string, string>();

  constructor(canvas: HTMLCanvasElement, isStill: boolean) {
    this.#canvas = canvas;
    this.#isStill = isStill;
  }

  show(progress: SigningProgress): void {
    const isNew = progress !== this.#progress || progress.generation !== this.#generation;
    this.#progress = progress;
    this.#generation = progress.generation;
    const changed = progress.takeChanged();
    if (isNew) this.#layOut();
    else this.#change(changed);
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
    this.#width = clientWidth;
    this.#height = clientHeight;
    this.#canvas.width = Math.round(clientWidth * scale);
    this.#canvas.height = Math.round(clientHeight * scale);
    this.#canvas.getContext('2d')?.setTransform(scale, 0, 0, scale, 0, 0);
    const sorted = [...(this.#progress?.validators ?? [])].sort(byWeight);
    const rects = squarify(
      sorted.map(({ weight }) => Number(weight)),
      clientWidth,
      clientHeight,
    );
    this.#cells = sorted.map((validator, order) => ({
      x: rects[4 * order] ?? 0,
      y: rects[4 * order + 1] ?? 0,
      width: rects[4 * order + 2] ?? 0,
      height: rects[4 * order + 3] ?? 0,
      validator,
      shown: validator.status,
      before: validator.status,
      fromMs: 0,
    }));
    this.#byIndex = [];
    for (const cell of this.#cells) this.#byIndex[cell.validator.index] = cell;
  }

  #change(changed: ReadonlySet<number>): void {
    const nowMs = performance.now();
    const stepMs = Math.min(LONGEST_STEP_MS, MAX_STAGGER_MS / Math.max(1, this.#cells.length));
    for (const index of changed) {
      const cell = this.#byIndex[index];
      if (cell === undefined) continue;
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
    context.clearRect(0, 0, this.#width, this.#height);
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
    const [x, y, width, height] = [cell.x, cell.y, cell.width - gap, cell.height - gap];
    if (share < 1) this.#fill(context, cell.before, x, y, width, height);
    context.globalAlpha = share;
    this.#fill(context, cell.shown, x, y, width, height);
    context.globalAlpha = 1;
    const status = share < 0.5 ? cell.before : cell.shown;
    if (Math.min(width, height) < MIN_SIGN_SIZE) return;
    context.fillStyle = this.#colour(`--ink-${status}`);
    context.textBaseline = 'middle';
    if (width >= MIN_LABEL_WIDTH && height >= MIN_LABEL_HEIGHT) {
      context.textAlign = 'left';
      context.font = this.#font(12, 600);
      context.fillText(`${SIGNS[status]} ${nodeLabel(cell.validator)}`.trim(), x + 8, y + 17, width - 14);
      if (height >= MIN_LABEL_HEIGHT + 14) {
        context.font = this.#font(11, 400);
        context.fillText(this.#share(cell.validator), x + 8, y + 34, width - 14);
      }
      return;
    }
    context.textAlign = 'center';
    context.font = this.#font(Math.min(15, Math.min(width, height) * 0.6), 700);
    context.fillText(SIGNS[status], x + width / 2, y + height / 2 + 1);
  }

  #fill(
    context: CanvasRenderingContext2D,
    status: ValidatorStatus,
    ...[x, y, width, height]: [number, number, number, number]
  ): void {
    context.fillStyle = this.#colour(`--cell-${status}`);
    if (Math.min(width, height) <= 8) {
      context.fillRect(x, y, width, height);
      return;
    }
    context.beginPath();
    context.roundRect(x, y, width, height, Math.min(6, width / 5, height / 5));
    context.fill();
  }

  /** The share of what stands for all other validators adds up to 100 % with theirs. */
  #share({ weight, nodeIds }: ShownValidator): string {
    const total = this.#progress?.totalWeight ?? 0n;
    return nodeIds[0]?.startsWith('NodeID-') ? percentOf(weight, total) : missingOf(total - weight, total, total);
  }

  #font(size: number, weight: number): string {
    return `${weight} ${size}px ${this.#style('--sans', () => getComputedStyle(this.#canvas).getPropertyValue('--sans'))}`;
  }

  /** The variable holds two colours; only as a colour of an element it becomes the one of the scheme. */
  #colour(variable: string): string {
    return this.#style(variable, () => {
      this.#canvas.style.color = `var(${variable})`;
      return getComputedStyle(this.#canvas).color;
    });
  }

  #style(name: string, read: () => string): string {
    const value = this.#styles.get(name) ?? read();
    this.#styles.set(name, value);
    return value;
  }
}

/** The heaviest first; what stands for several validators, and has no NodeID, last. */
function byWeight(a: ShownValidator, b: ShownValidator): number {
  const [aIsNode, bIsNode] = [a, b].map(({ nodeIds }) => nodeIds[0]?.startsWith('NodeID-') === true);
  if (aIsNode !== bIsNode) return aIsNode === true ? -1 : 1;
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : a.index - b.index;
}

function nodeLabel({ nodeIds }: ShownValidator): string {
  const [first = ''] = nodeIds;
  if (!first.startsWith('NodeID-')) return first;
  const id = first.replace('NodeID-', '');
  const more = nodeIds.length > 1 ? ` +${nodeIds.length - 1}` : '';
  return `${id.slice(0, 6)}…${id.slice(-4)}${more}`;
}
