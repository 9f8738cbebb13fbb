import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AggregationDetails } from '../../../client/gen/api.ts';
import { type Failure, failureOf } from '../console-api.ts';
import { useSession } from '../session.ts';
import { Badge, Card, Id } from '../ui/controls.tsx';
import { grouped, shareOf, shortened } from '../ui/figures.ts';
import { type Column, nodeColumn, swatched, Table } from '../ui/table.tsx';
import { OutcomeLegend } from '../ui/weight-map.tsx';
import { adviceOn, outcomesOf, sentenceOf, standOf } from './failure-words.ts';
import { OUTCOME_WORDS } from './outcomes.ts';
import { quorumOf } from './quorum.ts';
import { MAX_WAIT_SECONDS } from './snippets.ts';

interface SignFailureProps {
  readonly failure: Failure;
  /** Whether the message was of the P-Chain. */
  readonly isOfPChain?: boolean;
  /** Whether it was a request for a signature: others have no record. */
  readonly isRecorded?: boolean;
  /** Sends the same request again; undefined if it would fail again. */
  readonly onRetry?: (() => void) | undefined;
  /** Sends it with another quorum. */
  readonly onQuorum?: ((quorum: number) => void) | undefined;
  /** Sends it again, and waits for its transaction. */
  readonly onWait?: (() => void) | undefined;
  /** Chooses one of the messages that a transaction sent. */
  readonly onLogIndex?: ((logIndex: number) => void) | undefined;
}

const RETRY_WORDS = {
  never: 'The same request will always fail.',
  after_change: 'The same request fails until something has changed.',
  may_pass: 'The same request may succeed later.',
} as const;

/** Shows why nothing was signed: missing validators, their answers, and advice. */
export function SignFailure(props: SignFailureProps): ComponentChild {
  const { failure, isOfPChain = false, isRecorded = false, onRetry, onQuorum, onWait, onLogIndex } = props;
  const { adviceOf } = useSession();
  const advice = adviceOf(failure.code);
  const { details, message } = failure;
  const sentence = sentenceOf(failure, advice?.meaning, isOfPChain);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => showTop(place.current), []);
  return (
    <div ref={place} class="scroll-place">
      <Card title={['What went wrong ', <Badge tone="bad">{failure.code}</Badge>]} className="failure-card">
        <p class="failure-message">{sentence}</p>
        {details === undefined && message !== sentence && <p class="muted">{message}</p>}
        {advice !== undefined && (
          <p>
            <strong>{'What to do: '}</strong>
            {details === undefined && `${advice.action}. `}
            <span class="muted">{RETRY_WORDS[advice.retry]}</span>
          </p>
        )}
        {details !== undefined && [
          <ul class="advice">
            {adviceOn(details).map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>,
          <Suggestion details={details} onQuorum={onQuorum} />,
        ]}
        {failure.messages !== undefined && <SentMessages messages={failure.messages} onLogIndex={onLogIndex} />}
        {failure.code === 'unknown_transaction' && onWait !== undefined && (
          <button type="button" class="button" onClick={onWait}>
            {`Wait up to ${MAX_WAIT_SECONDS} s for it`}
          </button>
        )}
        {onRetry !== undefined && advice?.retry !== 'never' && <RetryButton failure={failure} onRetry={onRetry} />}
        {details !== undefined && [
          <OutcomeLegend outcomes={outcomesOf(details)} />,
          <MissingValidators
            missing={details.missing}
            omitted={details.missingOmitted}
            totalWeight={BigInt(details.totalWeight)}
          />,
          <details class="more">
            <summary>The error message of the API</summary>
            <p class="muted">{message}</p>
          </details>,
        ]}
        {failure.requestId !== undefined && (
          <p class="hint">
            {'Request '}
            <Id value={failure.requestId} what="request ID" />
            {isRecorded && [
              ': ',
              <a href={`#/activity/${encodeURIComponent(failure.requestId)}`}>what happened to it</a>,
            ]}
          </p>
        )}
      </Card>
    </div>
  );
}

interface NotLoadedProps {
  readonly error: unknown;
  readonly onRetry: () => void;
  /** Shown while there is no answer. */
  readonly children: ComponentChildren;
}

/** Stands in for a polled value that is not loaded, and shows why. */
export function NotLoaded({ error, onRetry, children }: NotLoadedProps): ComponentChild {
  // One object for each answer, because the time until the next attempt begins with it.
  const failure = useMemo(() => (error === undefined ? undefined : failureOf(error)), [error]);
  return failure === undefined ? children : <SignFailure failure={failure} onRetry={onRetry} />;
}

/** Visible height of an answer below which the page scrolls to it. */
const VISIBLE_PX = 160;

/** Scrolls to an answer that begins below the visible part of the page. */
export function showTop(element: HTMLElement | null): void {
  if (element !== null && element.getBoundingClientRect().top > innerHeight - VISIBLE_PX)
    element.scrollIntoView({ block: 'start', behavior: 'smooth' });
}

/** The messages of a transaction, of which one is chosen by a click while it can be signed. */
function SentMessages(
  props: Pick<SignFailureProps, 'onLogIndex'> & { messages: NonNullable<Failure['messages']> },
): ComponentChild {
  const { messages, onLogIndex } = props;
  const { nameOf } = useSession();
  return (
    <ul class="list">
      {messages.map(({ logIndex, messageId, destinationBlockchainId: to, bytes }) => (
        <li key={logIndex}>
          {onLogIndex === undefined ? (
            `log ${logIndex}`
          ) : (
            <button type="button" class="button small" onClick={() => onLogIndex(logIndex)}>
              {`Sign log ${logIndex}`}
            </button>
          )}
          <code>{shortened(messageId)}</code>
          <span class="muted">
            {`${grouped(bytes)} bytes`}
            {to !== undefined && `, to ${nameOf(to, 'chain') ?? shortened(to)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Suggestion(props: Pick<SignFailureProps, 'onQuorum'> & { details: AggregationDetails }): ComponentChild {
  const { details, onQuorum } = props;
  const reached = quorumOf(BigInt(details.weightSigned), BigInt(details.totalWeight));
  return (
    <div class="suggestion">
      <p>{standOf(details)}</p>
      {reached > 0 && onQuorum !== undefined && (
        <button type="button" class="button" onClick={() => onQuorum(reached)}>
          {`Ask for ${reached} %, which these validators reach`}
        </button>
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
    <button type="button" class="button" aria-disabled={leftMs > 0} onClick={() => leftMs === 0 && onRetry()}>
      {label}
    </button>
  );
}

type MissingRow = AggregationDetails['missing'][number];

function MissingValidators(props: {
  missing: readonly MissingRow[];
  omitted: number;
  totalWeight: bigint;
}): ComponentChild {
  const { missing, omitted, totalWeight } = props;
  if (missing.length === 0) return null;
  const columns: Column<MissingRow>[] = [
    nodeColumn(({ nodeId }) => [nodeId]),
    { name: 'Weight', isNumber: true, cell: ({ weight }) => shareOf(BigInt(weight), totalWeight) },
    { name: 'Outcome', cell: ({ outcome }) => swatched(outcome, OUTCOME_WORDS[outcome]) },
    {
      name: 'Why',
      isWide: true,
      isLong: true,
      cell: ({ code, text, reason }) => (code === undefined ? reason?.replace('_', ' ') : `code ${code}: ${text}`),
    },
  ];
  return [
    <h3>
      {omitted > 0
        ? `Validators that are missing: the heaviest ${missing.length}, and ${omitted} more`
        : 'Validators that are missing'}
    </h3>,
    <Table<MissingRow>
      label="Validators that did not sign"
      columns={columns}
      rows={missing}
      keyOf={({ nodeId }) => nodeId}
    />,
  ];
}
