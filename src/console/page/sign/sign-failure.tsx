import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Failure, FailureDetails } from '../api-client.ts';
import type { Session } from '../session.ts';
import { Badge, Card } from '../ui/controls.tsx';
import { percentOf, shortened } from '../ui/figures.ts';
import { type Column, VirtualTable } from '../ui/virtual-table.tsx';
import { adviceOn } from './failure-advice.ts';
import { quorumOf } from './quorum.ts';

interface SignFailureProps {
  readonly failure: Failure;
  readonly session: Session;
  /** The same request again; undefined where that is in vain. */
  readonly onRetry?: (() => void) | undefined;
  /** With another quorum. */
  readonly onQuorum?: ((quorum: number) => void) | undefined;
}

const RETRY_WORDS = {
  never: 'The same request will always fail.',
  after_change: 'The same request fails until something has changed.',
  may_pass: 'The same request may succeed later.',
} as const;

/** Why nothing was signed: who is missing, what they said, and what can be done. */
export function SignFailure({ failure, session, onRetry, onQuorum }: SignFailureProps): ComponentChild {
  const advice = session.adviceOf(failure.code);
  const { details } = failure;
  return (
    <Card title={['What went wrong ', <Badge tone="bad">{failure.code}</Badge>]} className="failure-card">
      <p class="failure-message">{failure.message}</p>
      {advice !== undefined && (
        <p>
          <strong>{'What to do: '}</strong>
          {details === undefined && `${advice.action}. `}
          <span class="muted">{RETRY_WORDS[advice.retry]}</span>
        </p>
      )}
      {details !== undefined && (
        <ul class="advice">
          {adviceOn(details).map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {details !== undefined && <Suggestion details={details} onQuorum={onQuorum} />}
      {onRetry !== undefined && advice?.retry !== 'never' && <RetryButton failure={failure} onRetry={onRetry} />}
      {details !== undefined && <Missing details={details} />}
      {failure.requestId !== undefined && (
        <p class="hint">
          {'Request '}
          <code>{failure.requestId}</code>, as the log of the service names it.
        </p>
      )}
    </Card>
  );
}

function Suggestion({
  details,
  onQuorum,
}: {
  details: FailureDetails;
  onQuorum: ((quorum: number) => void) | undefined;
}): ComponentChild {
  const total = BigInt(details.totalWeight);
  const missing = BigInt(details.weightNeeded) - BigInt(details.weightSigned);
  const reached = quorumOf(BigInt(details.weightSigned), total);
  return (
    <div class="suggestion">
      <p>
        <strong>{`${percentOf(BigInt(details.weightSigned), total)} signed`}</strong>
        {`, ${percentOf(BigInt(details.weightNeeded), total)} are needed: ${percentOf(missing > 0n ? missing : 0n, total)} of the weight are missing.`}
      </p>
      {reached > 0 && onQuorum !== undefined && (
        <button
          type="button"
          class="button"
          onClick={() => onQuorum(reached)}
        >{`Ask for ${reached} %, which these validators make`}</button>
      )}
    </div>
  );
}

const TICK_MS = 500;

function RetryButton({ failure, onRetry }: { failure: Failure; onRetry: () => void }): ComponentChild {
  const [leftMs, setLeftMs] = useState((failure.retryAfter ?? 0) * 1_000);
  useEffect(() => {
    const until = performance.now() + (failure.retryAfter ?? 0) * 1_000;
    const timer = setInterval(() => {
      const left = Math.max(0, until - performance.now());
      setLeftMs(left);
      if (left === 0) clearInterval(timer);
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [failure]);
  const label = leftMs > 0 ? `Try again in ${Math.ceil(leftMs / 1_000)} s` : 'Try again';
  return (
    <button type="button" class="button" disabled={leftMs > 0} onClick={onRetry}>
      {label}
    </button>
  );
}

/** Words for the outcomes of the details, in the order in which they are shown. */
const OUTCOMES: readonly (readonly [keyof FailureDetails['outcomes'], string])[] = [
  ['signed', 'signed'],
  ['refused', 'refused'],
  ['timed_out', 'timed out'],
  ['unreachable', 'unreachable'],
  ['invalid_signature', 'bad signature'],
  ['not_asked', 'not asked'],
  ['no_key', 'without a key'],
];

type MissingRow = FailureDetails['missing'][number];

function Missing({ details }: { details: FailureDetails }): ComponentChild {
  const total = BigInt(details.totalWeight);
  const words = new Map<string, string>(OUTCOMES);
  const columns: Column<MissingRow>[] = [
    {
      name: 'Validator',
      className: 'wide',
      cell: ({ nodeId }) => <code title={nodeId}>{shortened(nodeId, 12, 6)}</code>,
    },
    { name: 'Weight', className: 'number', cell: ({ weight }) => percentOf(BigInt(weight), total) },
    {
      name: 'What it did',
      cell: ({ outcome }) => [<span class={`swatch ${outcome}`} aria-hidden />, words.get(outcome) ?? outcome],
    },
    {
      name: 'Why',
      className: 'reason',
      cell: ({ code, text, reason }) => (
        <span title={text ?? reason}>
          {code !== undefined && `code ${code}: `}
          {text ?? reason?.replace('_', ' ') ?? ''}
        </span>
      ),
    },
  ];
  return [
    <h3>Who did what</h3>,
    <ul class="legend">
      {OUTCOMES.map(([outcome, name]) => {
        const { count, weight } = details.outcomes[outcome];
        if (count === 0) return null;
        return (
          <li key={outcome}>
            <span class={`swatch ${outcome}`} aria-hidden />
            <strong>{String(count)}</strong>
            {` ${name} `}
            <span class="muted">{percentOf(BigInt(weight), total)}</span>
          </li>
        );
      })}
    </ul>,
    details.missing.length > 0 && [
      <h3>
        {details.missingOmitted > 0
          ? `Who is missing: the heaviest ${details.missing.length}, and ${details.missingOmitted} more`
          : 'Who is missing'}
      </h3>,
      <VirtualTable<MissingRow>
        label={'Validators that did not sign'}
        columns={columns}
        rows={details.missing}
        keyOf={({ nodeId }) => nodeId}
        maxHeight={320}
      />,
    ],
  ];
}
