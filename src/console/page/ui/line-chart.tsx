import type { ComponentChild } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { spanOf } from './chart-span.ts';

export interface ChartSeries {
  readonly name: string;
  /** A variable of the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  /** Drawn down to the axis. */
  readonly isFilled?: boolean;
}

interface LineChartProps {
  readonly label: string;
  /** Unix time in milliseconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  /** Each value is of the whole time up to the next one: a count. */
  readonly isStepped?: boolean;
  /** The top of the scale, where it is not that of the values. */
  readonly max?: number;
}

const HEIGHT = 190;
/** Fewer values than these are dots, as there is no line yet. */
const FEW = 4;

/** Values over time. What it shows is said in words beside it, as it is a picture to those who do not see it. */
export default function LineChart(props: LineChartProps): ComponentChild {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const { label, times, series, max } = props;
  const data: uPlot.AlignedData = [times.map((time) => time / 1_000), ...series.map(({ values }) => [...values])];
  const shape = series.map(({ name }) => name).join();

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = () => {
      chart.current?.destroy();
      chart.current = new uPlot(optionsOf(props, element), data, element);
    };
    draw();
    const sizes = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    const themes = new MutationObserver(draw);
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      sizes.disconnect();
      themes.disconnect();
      scheme.removeEventListener('change', draw);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [shape, max]);
  useEffect(() => chart.current?.setData(data), [times]);

  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{label}</span>
        <ul class="legend">
          {series.map(({ name, colour }) => (
            <li key={name}>
              <span class="swatch" style={{ background: `var(${colour})` }} aria-hidden />
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} class="chart-place" role="img" aria-label={`${label}: ${lastOf(props)}`} />
    </figure>
  );
}

function lastOf({ series, format }: LineChartProps): string {
  return series
    .map(({ name, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${name} ${last === undefined || last === null ? 'none' : format(last)}`;
    })
    .join(', ');
}

function optionsOf(
  { series, format, max, times, isStepped = false }: LineChartProps,
  element: HTMLElement,
): uPlot.Options {
  const colour = (name: string) => getComputedStyle(element).getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${colour('--sans')}`,
  };
  const stepped = uPlot.paths.stepped?.({ align: -1 });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    // On the right half of a time of day, which may stand at the end of the axis.
    padding: [8, 20, 0, 0],
    scales: {
      x: { range: ({ data }) => spanOf(data[0]) },
      y: { range: (_, low, high) => [Math.min(0, low ?? 0), max ?? Math.max(1, (high ?? 1) * 1.1)] },
    },
    axes: [
      { ...axis, size: 30, space: 84, values: (_, splits) => splits.map((split) => clockTime(split * 1_000)) },
      { ...axis, size: 62, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ name, colour: variable, isFilled }) => ({
        label: name,
        stroke: colour(variable),
        width: 2,
        points: { show: times.length < FEW, size: 7, fill: colour(variable) },
        ...(isStepped && stepped && { paths: stepped }),
        ...(isFilled && { fill: `${colour(variable)}33` }),
      })),
    ],
  };
}

function clockTime(unixMs: number): string {
  const date = new Date(unixMs);
  return [date.getHours(), date.getMinutes(), ...(unixMs % 60_000 === 0 ? [] : [date.getSeconds()])]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
