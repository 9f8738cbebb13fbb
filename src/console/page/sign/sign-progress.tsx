import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownValidator, SigningProgress } from '../../../api/aggregation/signing-progress.ts';
import type { SignedMessage } from '../../../client/gen/api.ts';
import { quorumWeight } from '../../../validators/quorum.ts';
import { useSession } from '../session.ts';
import { Badge, Card } from '../ui/controls.tsx';
import { grouped, milliseconds, percentOf, shareOf, shortened } from '../ui/figures.ts';
import { useKeptFocus } from '../ui/kept-focus.tsx';
import { type Column, isNarrow, nodeColumn, swatched, Table } from '../ui/table.tsx';
import { WeightOf } from '../ui/weight.tsx';
import { WeightBar } from '../ui/weight-bar.tsx';
import { byWeight, OutcomeLegend, WeightMap } from '../ui/weight-map.tsx';
import { countOutcomes, isAwaitingExecution, OUTCOME_WORDS } from './outcomes.ts';
import { DEFAULT_QUORUM } from './quorum.ts';
import type { Run, Runner } from './sign-run.ts';

/** Most validators answer sooner; those that do not are named. */
const SLOW_MS = 500;
const AWAITING_EXECUTION =
  'No validator that was asked knows the message yet. The chain may still have to execute its block, so they are asked again for some seconds.';
const TICK_MS = 250;
const NAMED = 6;

export function SignProgress({ runner }: { runner: Runner }): ComponentChild {
  const { run, stop } = runner;
  const { nameOf } = useSession();
  const isRunning = run?.state === 'running';
  const [nowMs, setNowMs] = useState(0);
  useEffect(() => {
    if (!isRunning) return undefined;
    setNowMs(performance.now());
    const timer = setInterval(() => setNowMs(performance.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning, run?.startedMs]);
  const card = useRef<HTMLDivElement>(null);
  // A button of the last answer, or the one that stops, is gone now.
  useKeptFocus(card, [run?.startedMs, run?.state]);
  useEffect(() => {
    // On a phone the card is below the visible part of the page.
    if (isRunning) card.current?.scrollIntoView({ block: isNarrow() ? 'start' : 'nearest', behavior: 'smooth' });
  }, [isRunning]);
  if (run === undefined) return null;
  const { progress, startedMs, tookMs } = run;
  const elapsedMs = tookMs ?? Math.max(0, nowMs - startedMs);
  const { facts } = progress;
  return (
    <div ref={card} class="scroll-place" tabIndex={-1}>
      <Card
        title={titleOf(run.state, progress)}
        aside={
          <div class="card-aside">
            <span class="timer">{milliseconds(elapsedMs)}</span>
            {isRunning && (
              <button type="button" class="button small" onClick={stop}>
                Stop
              </button>
            )}
          </div>
        }
        className={`progress-card ${run.state}`}
      >
        {facts === undefined
          ? [
              run.result !== undefined && <FromMemory run={run} result={run.result} />,
              <p class="hint">{isRunning ? lookedUp(run) : noneAsked(run.state)}</p>,
            ]
          : [
              <p class="weight-line">
                <strong class="weight-now">{percentOf(progress.signedWeight, progress.totalWeight)}</strong>
                {' of the weight has signed · '}
                <WeightOf part={progress.signedWeight} total={progress.totalWeight} subnetId={facts.signingSubnetId} />
              </p>,
              <WeightBar
                signedWeight={progress.signedWeight}
                quorumWeight={progress.quorumWeight}
                targetWeight={progress.targetWeight}
                totalWeight={progress.totalWeight}
              />,
              <WeightMap set={progress} />,
              <OutcomeLegend outcomes={countOutcomes(progress)} />,
              isRunning && isAwaitingExecution(progress) && <p class="hint">{AWAITING_EXECUTION}</p>,
              isRunning && <Awaited progress={progress} elapsedMs={elapsedMs} />,
              <p class="hint">
                {'Subnet '}
                {nameOf(facts.signingSubnetId, 'subnet') ?? <code>{shortened(facts.signingSubnetId, 10, 8)}</code>}
                {`, quorum ${facts.quorumPercentage} %, at P-Chain height ${grouped(facts.pChainHeight)}`}
              </p>,
              <ValidatorList progress={progress} />,
            ]}
      </Card>
    </div>
  );
}

/** Rows are made only while the list is open: they change with each answer. */
function ValidatorList({ progress }: { progress: SigningProgress }): ComponentChild {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{`List of the ${progress.validators.length} validators`}</summary>
      {isOpen && (
        <Table<ShownValidator>
          label="Validators"
          columns={columnsOf(progress)}
          rows={progress.validators.toSorted(byWeight)}
          keyOf={({ index }) => index}
        />
      )}
    </details>
  );
}

/** The bar of a cached result, for which no validator was asked. */
function FromMemory({ run, result }: { run: Run; result: SignedMessage }): ComponentChild {
  const totalWeight = BigInt(result.totalWeight);
  const { request } = run;
  const { quorumPercentage, quorumPercentageBuffer = 0 } = request.kind === 'body' ? request.body : request.query;
  // The destination's own quorum is not in the answer.
  if (quorumPercentage === undefined && result.epoch !== undefined) return null;
  return (
    <WeightBar
      signedWeight={BigInt(result.signedWeight)}
      totalWeight={totalWeight}
      quorumWeight={quorumWeight(BigInt(quorumPercentage ?? DEFAULT_QUORUM), totalWeight)}
      targetWeight={quorumWeight(BigInt((quorumPercentage ?? DEFAULT_QUORUM) + quorumPercentageBuffer), totalWeight)}
    />
  );
}

function titleOf(state: string, progress: SigningProgress): ComponentChild {
  switch (state) {
    case 'signed':
      return ['Signed ', <Badge tone="good">verified</Badge>];
    case 'failed':
      return 'Not signed';
    case 'stopped':
      return 'Stopped';
    default:
      return { resolving: 'Looking up validators', collecting: 'Collecting signatures', verifying: 'Verifying' }[
        progress.phase
      ];
  }
}

function lookedUp({ request }: Run): string {
  const isWaiting = request.kind === 'transaction' && request.query.wait !== undefined;
  return isWaiting ? 'Waiting for the transaction to be accepted and executed…' : 'Looking up the validators…';
}

function noneAsked(state: string): string {
  return state === 'signed'
    ? 'The service had this signature in its cache, and asked no validator again.'
    : 'No validator was asked.';
}

/** Names the validators that take long to answer. */
function Awaited({ progress, elapsedMs }: { progress: SigningProgress; elapsedMs: number }): ComponentChild {
  const slow = progress.validators
    .filter(({ status, sinceMs }) => (status === 'asked' && elapsedMs - sinceMs > SLOW_MS) || status === 'timed_out')
    .sort((a, b) => (a.weight < b.weight ? 1 : -1));
  if (slow.length === 0) return null;
  return (
    <div class="awaited">
      <p>
        <strong>{`No answer yet from ${slow.length === 1 ? 'one validator' : `${slow.length} validators`}:`}</strong>
      </p>
      <ul>
        {slow.slice(0, NAMED).map(({ index, nodeIds, weight, status }) => (
          <li key={index}>
            <code>{nodeIds[0] ?? String(index)}</code>
            {` ${shareOf(weight, progress.totalWeight)}${status === 'asked' ? '' : `, ${OUTCOME_WORDS[status]}`}`}
          </li>
        ))}
      </ul>
      {slow.length > NAMED && <p>{`and ${slow.length - NAMED} more`}</p>}
    </div>
  );
}

function columnsOf(progress: SigningProgress): Column<ShownValidator>[] {
  return [
    { name: 'Status', cell: ({ status }) => swatched(status, OUTCOME_WORDS[status]) },
    nodeColumn(({ nodeIds }) => nodeIds),
    { name: 'Weight', isNumber: true, cell: ({ weight }) => shareOf(weight, progress.totalWeight) },
    {
      name: 'Why',
      isWide: true,
      isLong: true,
      cell: ({ code, text = '' }) => (code === undefined ? text : `code ${code}: ${text}`),
    },
  ];
}
