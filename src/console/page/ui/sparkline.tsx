import type { ComponentChild } from 'preact';
import type { ActivityBody } from '../../server/activity-record.ts';

export type Samples = ActivityBody['networks'][number]['subnets'][number]['samples'];

const WIDTH = 120;
const HEIGHT = 28;

/** The signable weight since the start, in the space of a word. */
export function Sparkline({ samples }: { samples: Samples }): ComponentChild {
  const first = samples[0]?.at ?? 0;
  const span = Math.max(1, (samples.at(-1)?.at ?? 0) - first);
  const points = samples
    .map(({ at, signable }) => `${((at - first) / span) * WIDTH},${HEIGHT - 2 - signable * (HEIGHT - 4)}`)
    .join(' ');
  const last = Math.round((samples.at(-1)?.signable ?? 0) * 100);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`signable weight over time, now ${last} %`}
      preserveAspectRatio="none"
    >
      <polyline points={points} />
    </svg>
  );
}
