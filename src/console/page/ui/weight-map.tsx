import type { ComponentChild, TargetedPointerEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { OUTCOME_WORDS, type OutcomeSum } from '../sign/outcomes.ts';
import { countOutcomes, type ShownSet, type ShownValidator } from '../sign/signing-progress.ts';
import { percentOf } from './figures.ts';
import { WeightMapPainter } from './weight-map-painter.ts';

/** Validators as areas by weight. A new `version` means that the set, which is one object, has changed. */
export function WeightMap({ set, version }: { set: ShownSet; version: number }): ComponentChild {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<WeightMapPainter>(undefined);
  const [pointed, setPointed] = useState<{ validator: ShownValidator; x: number; y: number }>();

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const own = new WeightMapPainter(element, isStill);
    painter.current = own;
    const sizes = new ResizeObserver(() => own.refresh());
    sizes.observe(element);
    const themes = new MutationObserver(() => own.refresh());
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const onScheme = () => own.refresh();
    scheme.addEventListener('change', onScheme);
    return () => {
      own.stop();
      sizes.disconnect();
      themes.disconnect();
      scheme.removeEventListener('change', onScheme);
    };
  }, []);
  useEffect(() => painter.current?.show(set), [set, version]);

  const point = (event: TargetedPointerEvent<HTMLElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const validator = painter.current?.at(x, y);
    setPointed(validator && { validator, x, y });
  };
  const described = countOutcomes(set)
    .flatMap(({ outcome, count }) => (count > 0 ? [`${count} ${OUTCOME_WORDS[outcome]}`] : []))
    .join(', ');
  return (
    <div class="weight-map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Map of ${set.validators.length} validators by weight: ${described}. The list of validators has each of them.`}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setPointed(undefined)}
      />
      {pointed && <Tip {...pointed} width={canvas.current?.clientWidth ?? 0} totalWeight={set.totalWeight} />}
    </div>
  );
}

function Tip(props: {
  validator: ShownValidator;
  x: number;
  y: number;
  width: number;
  totalWeight: bigint;
}): ComponentChild {
  const { validator, x, y, width, totalWeight } = props;
  const style = { transform: `translate(${Math.max(0, Math.min(x + 12, width - 270))}px, ${y + 16}px)` };
  return (
    <div class="tip" style={style} aria-hidden>
      <strong>{validator.nodeIds[0] ?? `validator ${validator.index}`}</strong>
      <span>{`${percentOf(validator.weight, totalWeight)} of the weight · ${OUTCOME_WORDS[validator.status]}`}</span>
      {validator.text !== undefined && <span>{validator.text}</span>}
    </div>
  );
}

/** Names of the colours, with the count and the weight of each. */
export function Legend({ outcomes }: { outcomes: readonly OutcomeSum[] }): ComponentChild {
  return (
    <ul class="legend">
      {outcomes.map(({ outcome, count, share }) => (
        <li key={outcome}>
          <span class={`swatch ${outcome}`} aria-hidden />
          {count > 0 && <strong>{`${count} `}</strong>}
          {`${OUTCOME_WORDS[outcome]} `}
          <span class="muted">{share}</span>
        </li>
      ))}
    </ul>
  );
}
