import { type ComponentChild, h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SignedMessage } from './api-client.ts';
import { Badge, Card } from './controls.ts';
import { grouped, milliseconds, percentOf, shortened } from './figures.ts';
import { DEFAULT_QUORUM, weightNeeded } from './quorum.ts';
import type { Run, Runner } from './sign-run.ts';
import { type SigningProgress, STATUS_WORDS, type ValidatorState } from './signing-progress.ts';
import { type Column, VirtualTable } from './virtual-table.ts';
import { WeightBar } from './weight-bar.ts';
import { Legend, WeightMap } from './weight-map.ts';

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
  return h(
    'div',
    { ref: card, class: 'progress-place' },
    h(
      Card,
      {
        title: titleOf(run.state, progress),
        aside: h('div', { class: 'card-aside' }, [
          h('span', { class: 'timer' }, milliseconds(elapsedMs)),
          isRunning && h('button', { type: 'button', class: 'button small', onClick: stop }, 'Stop'),
        ]),
        className: `progress-card ${run.state}`,
      },
      facts === undefined
        ? [
            run.result !== undefined && h(FromMemory, { run, result: run.result }),
            h('p', { class: 'hint' }, isRunning ? 'Finding out who must sign…' : noneAsked(run.state)),
          ]
        : [
            h('p', { class: 'weight-line' }, [
              h('strong', { class: 'weight-now' }, percentOf(progress.signedWeight, progress.totalWeight)),
              ` of the weight has signed · ${grouped(progress.signedWeight)} of ${grouped(progress.totalWeight)}`,
            ]),
            h(WeightBar, progress),
            h(WeightMap, { progress, version }),
            h(Legend, { progress, version }),
            isRunning && h(Awaited, { progress, elapsedMs }),
            h('p', { class: 'hint' }, [
              `Subnet `,
              h('code', null, shortened(facts.signingSubnetId, 10, 8)),
              ` at P-Chain height ${grouped(facts.pChainHeight)}`,
            ]),
            h('details', { class: 'more' }, [
              h('summary', null, `List of the ${progress.validators.length} validators`),
              h(VirtualTable<ValidatorState>, {
                label: 'Validators',
                columns: columnsOf(progress),
                rows: byWeight(progress),
                keyOf: ({ index }) => index,
                maxHeight: 360,
              }),
            ]),
          ],
    ),
  );
}

/** The bar alone, by what the answer says. */
function FromMemory({ run, result }: { run: Run; result: SignedMessage }): ComponentChild {
  const totalWeight = BigInt(result.totalWeight);
  const { quorumPercentage = DEFAULT_QUORUM, quorumPercentageBuffer = 0 } =
    run.request.kind === 'body' ? run.request.body : {};
  return h(WeightBar, {
    signedWeight: BigInt(result.signedWeight),
    totalWeight,
    quorumWeight: weightNeeded(totalWeight, quorumPercentage),
    targetWeight: weightNeeded(totalWeight, quorumPercentage + quorumPercentageBuffer),
  });
}

function titleOf(state: string, progress: SigningProgress): ComponentChild {
  switch (state) {
    case 'signed':
      return ['Signed ', h(Badge, { tone: 'good' }, 'verified')];
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
    ? 'The service had this signature from a moment ago, and asked nobody again.'
    : 'Nobody was asked.';
}

/** Who is being waited for, by name, once it takes long. */
function Awaited({ progress, elapsedMs }: { progress: SigningProgress; elapsedMs: number }): ComponentChild {
  const slow = progress.validators
    .filter(
      ({ status, sinceMs }) =>
        (status === 'asked' && elapsedMs - sinceMs > SLOW_MS) || status === 'silent' || status === 'ignored',
    )
    .sort((a, b) => (a.weight < b.weight ? 1 : -1));
  if (slow.length === 0) return null;
  return h('div', { class: 'awaited' }, [
    h(
      'p',
      null,
      h('strong', null, `No answer yet from ${slow.length === 1 ? 'one validator' : `${slow.length} validators`}:`),
    ),
    h(
      'ul',
      null,
      slow
        .slice(0, NAMED)
        .map(({ index, nodeIds, weight, status }) =>
          h('li', { key: index }, [
            h('code', null, nodeIds[0] ?? String(index)),
            ` ${percentOf(weight, progress.totalWeight)}${status === 'asked' ? '' : `, ${STATUS_WORDS[status]}`}`,
          ]),
        ),
    ),
    slow.length > NAMED && h('p', null, `and ${slow.length - NAMED} more`),
  ]);
}

function byWeight({ validators }: SigningProgress): ValidatorState[] {
  return [...validators].sort((a, b) => (a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : a.index - b.index));
}

function columnsOf(progress: SigningProgress): Column<ValidatorState>[] {
  return [
    {
      name: 'Status',
      cell: ({ status }) => [h('span', { class: `swatch ${status}`, 'aria-hidden': true }), STATUS_WORDS[status]],
    },
    {
      name: 'Validator',
      className: 'wide',
      cell: ({ nodeIds, index }) =>
        h('code', { title: nodeIds.join(', ') }, shortened(nodeIds[0] ?? String(index), 10, 6)),
    },
    { name: 'Weight', className: 'number', cell: ({ weight }) => percentOf(weight, progress.totalWeight) },
    {
      name: 'Why',
      cell: ({ code, text }) => h('span', { title: text }, [code !== undefined && `${code}: `, text ?? '']),
    },
  ];
}
