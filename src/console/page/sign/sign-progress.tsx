import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SignedMessage } from '../api-client.ts';
import { Badge, Card } from '../ui/controls.tsx';
import { grouped, milliseconds, percentOf, shortened } from '../ui/figures.ts';
import { type Column, VirtualTable } from '../ui/virtual-table.tsx';
import { WeightBar } from '../ui/weight-bar.tsx';
import { Legend, WeightMap } from '../ui/weight-map.tsx';
import { DEFAULT_QUORUM, weightNeeded } from './quorum.ts';
import type { Run, Runner } from './sign-run.ts';
import { type ShownValidator, type SigningProgress, STATUS_WORDS } from './signing-progress.ts';

/** A validator that has not answered by then is named: most answer sooner. */
const SLOW_MS = 500;
const TICK_MS = 250;
const NAMED = 6;

/** The signing while it goes on, and as it ended. */
export function SignProgress({ runner }: { runner: Runner }): ComponentChild {
  const { run, version, stop } = runner;
  const isRunning = run?.state === 'running';
  const [nowMs, setNowMs] = useState(0);
  useEffect(() => {
    if (!isRunning) return undefined;
    setNowMs(performance.now());
    const timer = setInterval(() => setNowMs(performance.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning, run?.startedMs]);
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a phone it is below what can be seen.
    if (isRunning) card.current?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }, [isRunning]);
  if (run === undefined) return null;
  const { progress, startedMs, tookMs } = run;
  const elapsedMs = tookMs ?? Math.max(0, nowMs - startedMs);
  const { facts } = progress;
  return (
    <div ref={card} class="progress-place">
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
              <p class="hint">{isRunning ? 'Finding out who must sign…' : noneAsked(run.state)}</p>,
            ]
          : [
              <p class="weight-line">
                <strong class="weight-now">{percentOf(progress.signedWeight, progress.totalWeight)}</strong>
                {` of the weight has signed · ${grouped(progress.signedWeight)} of ${grouped(progress.totalWeight)}`}
              </p>,
              <WeightBar
                signedWeight={progress.signedWeight}
                quorumWeight={progress.quorumWeight}
                targetWeight={progress.targetWeight}
                totalWeight={progress.totalWeight}
              />,
              <WeightMap progress={progress} version={version} />,
              <Legend progress={progress} version={version} />,
              isRunning && <Awaited progress={progress} elapsedMs={elapsedMs} />,
              <p class="hint">
                {`Subnet `}
                <code>{shortened(facts.signingSubnetId, 10, 8)}</code>
                {` at P-Chain height ${grouped(facts.pChainHeight)}`}
              </p>,
              <details class="more">
                <summary>{`List of the ${progress.validators.length} validators`}</summary>
                {
                  <VirtualTable<ShownValidator>
                    label={'Validators'}
                    columns={columnsOf(progress)}
                    rows={byWeight(progress)}
                    keyOf={({ index }) => index}
                    maxHeight={360}
                  />
                }
              </details>,
            ]}
      </Card>
    </div>
  );
}

/** The bar alone, by what the answer says. */
function FromMemory({ run, result }: { run: Run; result: SignedMessage }): ComponentChild {
  const totalWeight = BigInt(result.totalWeight);
  const { quorumPercentage = DEFAULT_QUORUM, quorumPercentageBuffer = 0 } =
    run.request.kind === 'body' ? run.request.body : {};
  return (
    <WeightBar
      signedWeight={BigInt(result.signedWeight)}
      totalWeight={totalWeight}
      quorumWeight={weightNeeded(totalWeight, quorumPercentage)}
      targetWeight={weightNeeded(totalWeight, quorumPercentage + quorumPercentageBuffer)}
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

function noneAsked(state: string): string {
  return state === 'signed'
    ? 'The service had this signature cached, and asked no validator again.'
    : 'No validator was asked.';
}

/** Who is being waited for, by name, once it takes long. */
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
            {` ${percentOf(weight, progress.totalWeight)}${status === 'asked' ? '' : `, ${STATUS_WORDS[status]}`}`}
          </li>
        ))}
      </ul>
      {slow.length > NAMED && <p>{`and ${slow.length - NAMED} more`}</p>}
    </div>
  );
}

function byWeight({ validators }: SigningProgress): ShownValidator[] {
  return [...validators].sort((a, b) => (a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : a.index - b.index));
}

function columnsOf(progress: SigningProgress): Column<ShownValidator>[] {
  return [
    {
      name: 'Status',
      cell: ({ status }) => [<span class={`swatch ${status}`} aria-hidden />, STATUS_WORDS[status]],
    },
    {
      name: 'Validator',
      className: 'wide',
      cell: ({ nodeIds, index }) => (
        <code title={nodeIds.join(', ')}>{shortened(nodeIds[0] ?? String(index), 10, 6)}</code>
      ),
    },
    { name: 'Weight', className: 'number', cell: ({ weight }) => percentOf(weight, progress.totalWeight) },
    {
      name: 'Why',
      cell: ({ code, text }) => (
        <span title={text}>
          {code !== undefined && `${code}: `}
          {text ?? ''}
        </span>
      ),
    },
  ];
}
