import type { ComponentChild } from 'preact';
import type { ValidatorHistoryBody } from '../../../api/subnets/history-records.ts';
import { useSession } from '../session.ts';
import { NotLoaded } from '../sign/sign-failure.tsx';
import { dayAndMinute, milliseconds, sharePercent } from '../ui/figures.ts';
import { usePolled } from '../ui/polled.tsx';
import { countsText, levelOf, type Recorded } from './remaining-weight.ts';

type Span = ValidatorHistoryBody['hours'][number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOURS = 48;
const DAYS = 90;
const EVERY_MS = 60_000;
/** Bad hours that are listed in words. */
const MAX_LISTED = 6;

interface ValidatorHoursProps {
  readonly subnetId: string;
  readonly nodeId: string;
  /** The last day. */
  readonly recorded: Recorded;
}

/** What a validator did in the last day, and in each of the last hours and days. */
export function ValidatorHours({ subnetId, nodeId, recorded }: ValidatorHoursProps): ComponentChild {
  const { api, network } = useSession();
  const polled = usePolled((signal) => api.of(network).validatorHistory(subnetId, nodeId, { signal }), EVERY_MS, [
    network,
    subnetId,
    nodeId,
  ]);
  const { value: history, error, reload } = polled;
  const { medianMs, p95Ms, connectedShare } = recorded;
  return (
    <div class="validator-hours">
      <p>
        {'In the last 24 hours: '}
        {countsText(recorded)}
        {medianMs !== undefined &&
          `; answers within ${milliseconds(medianMs)} (median), 95 % within ${milliseconds(p95Ms)}`}
        {connectedShare !== undefined && `; connected ${sharePercent(connectedShare)} of the time`}
      </p>
      {history === undefined ? (
        <NotLoaded error={error} onRetry={reload}>
          <p class="hint">Reading its hours…</p>
        </NotLoaded>
      ) : (
        [
          <Spans label="The last 48 hours" spans={history.hours} lengthMs={HOUR_MS} count={HOURS} />,
          history.days.length > 2 && (
            <Spans label="The last 90 days" spans={history.days} lengthMs={DAY_MS} count={DAYS} />
          ),
          <BadHours hours={history.hours} />,
        ]
      )}
    </div>
  );
}

interface SpansProps {
  readonly label: string;
  readonly spans: readonly Span[];
  readonly lengthMs: number;
  readonly count: number;
}

/** A bar for each hour or day: as high as the share that was signed, hatched above; a line where there was no question. */
function Spans({ label, spans, lengthMs, count }: SpansProps): ComponentChild {
  const last = lengthMs * Math.floor(Date.now() / lengthMs);
  const byStart = new Map(spans.map((span) => [span.start, span]));
  const starts = Array.from({ length: count }, (_, index) => last - lengthMs * (count - 1 - index));
  const asked = spans.filter(({ signedShare }) => signedShare !== undefined);
  const whole = asked.filter((span) => levelOf(span) === 'all').length;
  if (asked.length === 0) return null;
  const unit = lengthMs === HOUR_MS ? 'hours' : 'days';
  return (
    <figure class="spans">
      <figcaption>
        <span>{label}</span>
        <span class="muted">{`all signed in ${whole} of ${asked.length} ${unit} with a question`}</span>
      </figcaption>
      <div
        class="span-bars"
        role="img"
        aria-label={`${label}: in ${whole} of ${asked.length} ${unit} with a question it signed all`}
      >
        {starts.map((start) => {
          const span = byStart.get(start);
          const level = span === undefined ? 'empty' : levelOf(span);
          const text = `${dayAndMinute(start)}: ${span === undefined ? 'no record' : countsText(span)}`;
          return (
            <span key={start} class={`span-bar ${level}`} title={text}>
              <span style={{ height: `${100 * (span?.signedShare ?? 0)}%` }} />
            </span>
          );
        })}
      </div>
      <div class="span-scale muted" aria-hidden>
        <span>{dayAndMinute(starts[0] ?? last)}</span>
        <span>now</span>
      </div>
    </figure>
  );
}

function BadHours({ hours }: { hours: readonly Span[] }): ComponentChild {
  const bad = hours.filter(({ signedShare }) => signedShare !== undefined && signedShare < 1);
  const shown = bad.toReversed().slice(0, MAX_LISTED);
  if (shown.length === 0) return null;
  return (
    <ul class="bad-hours">
      {shown.map((span) => (
        <li key={span.start}>
          <strong>{dayAndMinute(span.start)}</strong>
          {` ${countsText(span)}`}
        </li>
      ))}
      {bad.length > shown.length && <li class="muted">{`and ${bad.length - shown.length} hours before`}</li>}
    </ul>
  );
}
