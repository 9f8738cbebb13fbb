import type { ComponentChild, TargetedPointerEvent } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ShownSet, ShownValidator, ValidatorStatus } from '../../../api/aggregation/signing-progress.ts';
import { countOutcomes, OUTCOME_WORDS, type OutcomeSum } from '../sign/outcomes.ts';
import { Legend } from './controls.tsx';
import { missingOf, shareOf } from './figures.ts';
import { type Rectangle, squarify } from './treemap.ts';

/** Shown beside the colour, for people who cannot tell colours apart. */
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
/** Answers that come at once are shown one after the other, within this time. */
const MAX_STAGGER_MS = 650;
const LONGEST_STEP_MS = 28;
const MIN_SIGN_SIZE = 15;
const MIN_LABEL_WIDTH = 96;
/** Of a cell that shows its share of the weight, without a name. */
const MIN_SHARE_WIDTH = 48;
const MIN_LABEL_HEIGHT = 34;
const MIN_SHARE_HEIGHT = 48;
/** Areas drawn at once: thousands would take longer than a frame. A frame may draw twice, for new answers and for the areas left. */
const DRAWN_AT_ONCE = 150;
const TIP_WIDTH = 270;

/** Validators as areas by weight, each of which lights up when its status changes. */
export function WeightMap({ set }: { set: ShownSet }): ComponentChild {
  const { validators, totalWeight } = set;
  const map = useRef<HTMLDivElement>(null);
  const [{ width, height }, setSize] = useState({ width: 0, height: 0 });
  const [pointed, setPointed] = useState<{ index: number; x: number; y: number }>();
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setSize(entry.contentRect));
    if (map.current !== null) observer.observe(map.current);
    return () => observer.disconnect();
  }, []);
  const places = useMemo(() => layOut(validators, width, height), [validators, width, height]);
  const stepMs = Math.min(LONGEST_STEP_MS, MAX_STAGGER_MS / places.length);
  const cells = useCells(places, (place, order) => cellOf(place, totalWeight, order * stepMs));

  const point = (event: TargetedPointerEvent<HTMLElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const cell = (event.target as HTMLElement).closest<HTMLElement>('.cell');
    setPointed(
      cell ? { index: Number(cell.dataset['index']), x: event.clientX - left, y: event.clientY - top } : undefined,
    );
  };
  const tip = pointed && validators[pointed.index];
  const described = countOutcomes(set)
    .flatMap(({ outcome, count }) => (count > 0 ? [`${count} ${OUTCOME_WORDS[outcome]}`] : []))
    .join(', ');
  return (
    <div
      ref={map}
      class="weight-map"
      role="img"
      aria-label={`Map of ${validators.length} validators by weight: ${described}. The list of validators has each of them.`}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => setPointed(undefined)}
    >
      {cells}
      {tip && (
        <div
          class="tip"
          style={{ left: `${Math.max(0, Math.min(pointed.x + 12, width - TIP_WIDTH))}px`, top: `${pointed.y + 16}px` }}
        >
          <strong>{tip.nodeIds[0] ?? `validator ${tip.index}`}</strong>
          <span>{`${shareOf(tip.weight, totalWeight)} of the weight · ${OUTCOME_WORDS[tip.status]}`}</span>
          {tip.text !== undefined && <span>{tip.text}</span>}
        </div>
      )}
    </div>
  );
}

/** Draws new and changed areas over several frames. An area keeps its element while it is unchanged, or until its turn comes. */
function useCells(
  places: readonly Place[],
  draw: (place: Place, order: number) => ComponentChild,
): readonly ComponentChild[] {
  const drawn = useRef({
    places,
    cells: [] as { readonly status: ValidatorStatus; readonly element: ComponentChild }[],
  });
  const [, setFrames] = useState(0);
  if (drawn.current.places !== places) drawn.current = { places, cells: [] };
  const { cells } = drawn.current;
  let left = DRAWN_AT_ONCE;
  for (const [order, place] of places.entries()) {
    const { status } = place.validator;
    if (cells[order]?.status === status) continue;
    if (left === 0) break;
    left -= 1;
    cells[order] = { status, element: draw(place, order) };
  }
  useEffect(() => {
    if (left > 0) return undefined;
    const frame = requestAnimationFrame(() => setFrames((frames) => frames + 1));
    return () => cancelAnimationFrame(frame);
  });
  return cells.map(({ element }) => element);
}

interface Place extends Rectangle {
  readonly validator: ShownValidator;
}

/** Returns an element rather than a component, and its style as a text, because there are thousands. */
function cellOf({ validator, x, y, width, height }: Place, totalWeight: bigint, delayMs: number): ComponentChild {
  const { index, status } = validator;
  const gap = Math.min(GAP, width / 4, height / 4);
  // `asked` is shown without a delay, as the background of later statuses.
  const delay = status === 'asked' || status === 'not_asked' ? 0 : delayMs;
  const size = `left:${x}px;top:${y}px;width:${width - gap}px;height:${height - gap}px`;
  const colours = `background:var(--cell-${status});color:var(--ink-${status});transition-delay:${delay}ms`;
  const cell = { 'data-index': index, style: `${size};${colours}` };
  if (Math.min(width, height) < MIN_SIGN_SIZE) return <div key={index} class="cell" {...cell} />;
  if (width < MIN_LABEL_WIDTH || height < MIN_LABEL_HEIGHT) {
    return (
      <div key={index} class="cell sign" {...cell}>
        {SIGNS[status]}
        {width >= MIN_SHARE_WIDTH && height >= MIN_SHARE_HEIGHT && <span>{shareTextOf(validator, totalWeight)}</span>}
      </div>
    );
  }
  return (
    <div key={index} class="cell label" {...cell}>
      <strong>{`${SIGNS[status]} ${nodeLabel(validator)}`.trim()}</strong>
      {height >= MIN_SHARE_HEIGHT && shareTextOf(validator, totalWeight)}
    </div>
  );
}

/** The share of the entry for all other validators is what is missing to 100 %. */
function shareTextOf(validator: ShownValidator, totalWeight: bigint): string {
  const { weight } = validator;
  return isNode(validator) ? shareOf(weight, totalWeight) : missingOf(totalWeight - weight, totalWeight, totalWeight);
}

function layOut(validators: readonly ShownValidator[], width: number, height: number): Place[] {
  if (width === 0) return [];
  const sorted = validators.toSorted(byWeight);
  const weights = sorted.map(({ weight }) => Number(weight));
  return squarify(weights, width, height).flatMap((place, order) => {
    const validator = sorted[order];
    return validator === undefined ? [] : [{ ...place, validator }];
  });
}

/** Orders validators by weight, descending; an entry for several validators is last. */
export function byWeight(a: ShownValidator, b: ShownValidator): number {
  if (isNode(a) !== isNode(b)) return isNode(a) ? -1 : 1;
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : a.index - b.index;
}

/** An entry for several validators has no NodeID. */
function isNode({ nodeIds }: ShownValidator): boolean {
  return nodeIds[0]?.startsWith('NodeID-') === true;
}

function nodeLabel({ nodeIds: [first = '', ...others] }: ShownValidator): string {
  if (!first.startsWith('NodeID-')) return first;
  const id = first.replace('NodeID-', '');
  return `${id.slice(0, 4)}…${id.slice(-4)}${others.length > 0 ? ` +${others.length}` : ''}`;
}

/** The colours of the map, with the count and the weight of each. */
export function OutcomeLegend({ outcomes }: { outcomes: readonly OutcomeSum[] }): ComponentChild {
  return (
    <Legend
      items={outcomes.map(({ outcome, count, share }) => [
        outcome,
        [count > 0 && <strong>{`${count} `}</strong>, OUTCOME_WORDS[outcome]],
        share,
      ])}
    />
  );
}
