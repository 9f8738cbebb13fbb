import type { ComponentChild } from 'preact';
import { drawCounts, drawSeries, niceTop, spanOf } from './chart-path.ts';
import { Legend } from './controls.tsx';
import { clockTime } from './figures.ts';

export interface ChartSeries {
  readonly name: string;
  /** The end of the name of its variable `--cell-…` in the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | undefined)[];
  readonly isFilled?: boolean;
}

interface LineChartProps {
  readonly label: string;
  /** Unix time in milliseconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  /** Beginning of the axis; by default it is the first time. */
  readonly since?: number | undefined;
  /** Each value is a count of the whole time since the one before, the first since the beginning of the axis. */
  readonly areCounts?: boolean;
  /** Top of the scale; by default it is that of the values. */
  readonly max?: number;
}

/** Units of the drawing, which is stretched to its place. */
const WIDTH = 1_000;
const HEIGHT = 100;
const TIME_LABELS = 5;

/** Values over time. Its label has the last value, for screen readers. */
export function LineChart(props: LineChartProps): ComponentChild {
  const { label, times, series, format, since, areCounts = false } = props;
  const [from, to] = spanOf(since === undefined ? times : [since, ...times]);
  const top = props.max ?? niceTop(Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 1));
  const at = (time: number, value: number) =>
    [((time - from) / (to - from)) * WIDTH, HEIGHT - (value / top) * HEIGHT] as const;
  return (
    <figure class="chart">
      <figcaption>
        <span class="muted">{label}</span>
        <Legend items={series.map(({ name, colour }) => [colour, name])} />
      </figcaption>
      <div class="chart-place">
        <div class="chart-values" aria-hidden>
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${label}: ${series.map(({ name, values }) => `${name} ${lastOf(values, format)}`).join(', ')}`}
        >
          <path class="grid" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
          {series.map(({ name, colour, values, isFilled }) => {
            const { line, area, dots } = areCounts
              ? drawCounts(
                  times.map((time, index) => at(time, values[index] ?? 0)),
                  0,
                  HEIGHT,
                )
              : drawSeries(
                  times.map((time, index) => {
                    const value = values[index];
                    return value === undefined ? undefined : at(time, value);
                  }),
                  HEIGHT,
                );
            return (
              <g key={name} style={{ stroke: `var(--cell-${colour})`, fill: `var(--cell-${colour})` }}>
                {isFilled && <path class="area" d={area} />}
                <path class="line" d={line} />
                <path class="dots" d={dots} />
              </g>
            );
          })}
        </svg>
        <div class="chart-times" aria-hidden>
          {Array.from({ length: TIME_LABELS }, (_, index) => (
            <span key={index}>{clockTime(from + ((to - from) * index) / (TIME_LABELS - 1)).slice(0, 5)}</span>
          ))}
        </div>
      </div>
    </figure>
  );
}

function lastOf(values: readonly (number | undefined)[], format: (value: number) => string): string {
  const last = values.findLast((value) => value !== undefined);
  return last === undefined ? 'none' : format(last);
}
