import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ShownValidator, type SigningProgress, STATUS_ORDER, STATUS_WORDS } from '../sign/signing-progress.ts';
import { percentOf } from './figures.ts';
import { WeightMapPainter } from './weight-map-painter.ts';

/** The validators by weight. `version` says when the progress has changed, as it is one object. */
export function WeightMap({ progress, version }: { progress: SigningProgress; version: number }): ComponentChild {
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
  useEffect(() => painter.current?.show(progress), [progress, version]);

  const point = (event: PointerEvent) => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const validator = painter.current?.at(x, y);
    setPointed(validator && { validator, x, y });
  };
  return (
    <div class="weight-map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Map of ${progress.validators.length} validators by weight: ${describe(progress)}. The list of validators has each of them.`}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setPointed(undefined)}
      />
      {pointed && <Tip {...pointed} width={canvas.current?.clientWidth ?? 0} totalWeight={progress.totalWeight} />}
    </div>
  );
}

function Tip({
  validator,
  x,
  y,
  width,
  totalWeight,
}: {
  validator: ShownValidator;
  x: number;
  y: number;
  width: number;
  totalWeight: bigint;
}): ComponentChild {
  const style = { transform: `translate(${Math.max(0, Math.min(x + 12, width - 270))}px, ${y + 16}px)` };
  return (
    <div class="tip" style={style} aria-hidden>
      <strong>{validator.nodeIds[0] ?? `validator ${validator.index}`}</strong>
      <span>{`${percentOf(validator.weight, totalWeight)} of the weight · ${STATUS_WORDS[validator.status]}`}</span>
      {validator.text !== undefined && <span>{validator.text}</span>}
    </div>
  );
}

function describe({ sums }: SigningProgress): string {
  return STATUS_ORDER.flatMap((status) => {
    const count = sums.get(status)?.count ?? 0;
    return count > 0 ? [`${count} ${STATUS_WORDS[status]}`] : [];
  }).join(', ');
}

/** What the colours mean, with how many and how much weight each has. */
export function Legend({ progress }: { progress: SigningProgress; version: number }): ComponentChild {
  return (
    <ul class="legend">
      {STATUS_ORDER.map((status) => {
        const { count, weight } = progress.sums.get(status) ?? { count: 0, weight: 0n };
        if (count === 0) return null;
        return (
          <li key={status}>
            <span class={`swatch ${status}`} aria-hidden />
            <strong>{String(count)}</strong>
            {` ${STATUS_WORDS[status]} `}
            <span class="muted">{percentOf(weight, progress.totalWeight)}</span>
          </li>
        );
      })}
    </ul>
  );
}
