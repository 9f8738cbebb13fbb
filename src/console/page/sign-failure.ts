import { type ComponentChild, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Failure, FailureDetails } from './api-client.ts';
import { Badge, Card } from './controls.ts';
import { adviceOn } from './failure-advice.ts';
import { percentOf, shortened } from './figures.ts';
import { quorumOf } from './quorum.ts';
import type { Session } from './session.ts';
import { type Column, VirtualTable } from './virtual-table.ts';

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
  return h(Card, { title: ['What went wrong ', h(Badge, { tone: 'bad' }, failure.code)], className: 'failure-card' }, [
    h('p', { class: 'failure-message' }, failure.message),
    advice !== undefined &&
      h('p', null, [
        h('strong', null, 'What to do: '),
        details === undefined && `${advice.action}. `,
        h('span', { class: 'muted' }, RETRY_WORDS[advice.retry]),
      ]),
    details !== undefined &&
      h(
        'ul',
        { class: 'advice' },
        adviceOn(details).map((text) => h('li', { key: text }, text)),
      ),
    details !== undefined && h(Suggestion, { details, onQuorum }),
    onRetry !== undefined && advice?.retry !== 'never' && h(RetryButton, { failure, onRetry }),
    details !== undefined && h(Missing, { details }),
    failure.requestId !== undefined &&
      h('p', { class: 'hint' }, [
        'Request ',
        h('code', null, failure.requestId),
        ', as the log of the service names it.',
      ]),
  ]);
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
  return h('div', { class: 'suggestion' }, [
    h('p', null, [
      h('strong', null, `${percentOf(BigInt(details.weightSigned), total)} signed`),
      `, ${percentOf(BigInt(details.weightNeeded), total)} are needed: ${percentOf(missing > 0n ? missing : 0n, total)} of the weight are missing.`,
    ]),
    reached > 0 &&
      onQuorum !== undefined &&
      h(
        'button',
        { type: 'button', class: 'button', onClick: () => onQuorum(reached) },
        `Ask for ${reached} %, which these validators make`,
      ),
  ]);
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
  return h('button', { type: 'button', class: 'button', disabled: leftMs > 0, onClick: onRetry }, label);
}

/** Words for the outcomes of the details, in the order in which they are shown. */
const OUTCOMES: readonly (readonly [keyof FailureDetails['outcomes'], string])[] = [
  ['signed', 'signed'],
  ['refused', 'refused'],
  ['silent', 'silent'],
  ['ignored', 'ignored us'],
  ['unreachable', 'unreachable'],
  ['not_sent', 'not sent'],
  ['invalid_signature', 'bad signature'],
  ['unanswered', 'unanswered'],
  ['not_asked', 'not asked'],
  ['without_key', 'without a key'],
];

type MissingRow = FailureDetails['missing'][number];

function Missing({ details }: { details: FailureDetails }): ComponentChild {
  const total = BigInt(details.totalWeight);
  const words = new Map<string, string>(OUTCOMES);
  const columns: Column<MissingRow>[] = [
    {
      name: 'Validator',
      className: 'wide',
      cell: ({ nodeId }) => h('code', { title: nodeId }, shortened(nodeId, 12, 6)),
    },
    { name: 'Weight', className: 'number', cell: ({ weight }) => percentOf(BigInt(weight), total) },
    {
      name: 'What it did',
      cell: ({ outcome }) => [
        h('span', { class: `swatch ${outcome}`, 'aria-hidden': true }),
        words.get(outcome) ?? outcome,
      ],
    },
    {
      name: 'Why',
      className: 'reason',
      cell: ({ code, text, reason }) =>
        h('span', { title: text ?? reason }, [code !== undefined && `code ${code}: `, text ?? reason ?? '']),
    },
  ];
  return [
    h('h3', null, 'Who did what'),
    h(
      'ul',
      { class: 'legend' },
      OUTCOMES.map(([outcome, name]) => {
        const { count, weight } = details.outcomes[outcome];
        if (count === 0) return null;
        return h('li', { key: outcome }, [
          h('span', { class: `swatch ${outcome}`, 'aria-hidden': true }),
          h('strong', null, String(count)),
          ` ${name} `,
          h('span', { class: 'muted' }, percentOf(BigInt(weight), total)),
        ]);
      }),
    ),
    details.missing.length > 0 && [
      h(
        'h3',
        null,
        details.missingOmitted > 0
          ? `Who is missing: the heaviest ${details.missing.length}, and ${details.missingOmitted} more`
          : 'Who is missing',
      ),
      h(VirtualTable<MissingRow>, {
        label: 'Validators that did not sign',
        columns,
        rows: details.missing,
        keyOf: ({ nodeId }) => nodeId,
        maxHeight: 320,
      }),
    ],
  ];
}
