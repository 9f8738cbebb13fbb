import type { ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { SubnetViewBody } from '../../../api/subnets/subnet-records.ts';
import { failureOf } from '../api-client.ts';
import { nameOf, type Session } from '../session.ts';
import { DEFAULT_QUORUM } from '../sign/quorum.ts';
import { SignFailure } from '../sign/sign-failure.tsx';
import { Card, Field, type Figure, Figures, Id, usePolled } from '../ui/controls.tsx';
import { ago, compact, grouped, milliseconds, percentOf, shortened } from '../ui/figures.ts';
import { Chart } from '../ui/lazy-chart.tsx';
import type { Samples } from '../ui/sparkline.tsx';
import { type Column, type Sorting, sorted, VirtualTable } from '../ui/virtual-table.tsx';

type Validator = SubnetViewBody['validators'][number];

/** It costs 5 units and one for each full hundred of validators, and more pages cost as much again. */
const VIEW_EVERY_MS = 20_000;
const STATUSES = ['signable', 'doubtful', 'unreachable', 'inactive'] as const;

/** One subnet: how much of it could sign, over time and now, and each of its validators. */
export function SubnetDetail({
  session,
  subnetId,
  samples,
}: {
  session: Session;
  subnetId: string;
  samples: Samples | undefined;
}): ComponentChild {
  const { api, network } = session;
  const {
    value: view,
    error,
    reload,
  } = usePolled((signal) => api.subnet(network, subnetId, signal), VIEW_EVERY_MS, [network, subnetId]);
  if (view === undefined) {
    if (error !== undefined) return <SignFailure failure={failureOf(error)} session={session} onRetry={reload} />;
    return (
      <Card title={nameOf(subnetId, session) ?? shortened(subnetId)}>
        <p class="hint">Asking for its validators, and connecting them…</p>
      </Card>
    );
  }
  return (
    <Card
      title={nameOf(view.subnetId, session) ?? shortened(view.subnetId, 10, 8)}
      aside={
        <button type="button" class="button small" onClick={reload}>
          Refresh
        </button>
      }
    >
      <Id value={view.subnetId} what="subnet ID" />
      <SubnetFigures view={view} />
      {samples !== undefined && samples.length > 1 && <WeightChart samples={samples} />}
      <Validators view={view} />
    </Card>
  );
}

function SubnetFigures({ view }: { view: SubnetViewBody }): ComponentChild {
  const total = BigInt(view.totalWeight);
  const isEnough = view.highestQuorum >= DEFAULT_QUORUM;
  const figures: readonly Figure[] = [
    [
      'Highest quorum now',
      `${view.highestQuorum} %`,
      isEnough ? 'enough for the usual 67 %' : 'too little for the usual 67 %',
      isEnough ? 'good' : 'bad',
    ],
    [
      'Signable',
      percentOf(BigInt(view.signableWeight), total),
      `${compact(BigInt(view.signableWeight))} of ${compact(total)}`,
    ],
    [
      'Connected',
      percentOf(BigInt(view.connectedWeight), total),
      `${percentOf(BigInt(view.reachableWeight), total)} answered when last asked`,
    ],
    [
      'Without a key',
      String(view.withoutKey.count),
      `${percentOf(BigInt(view.withoutKey.weight), total)} of the weight can never sign`,
    ],
    ['P-Chain height', grouped(view.pChainHeight), `${view.validators.length} validators`],
  ];
  return <Figures figures={figures} />;
}

function WeightChart({ samples }: { samples: Samples }): ComponentChild {
  return (
    <Chart
      label="Weight since the start"
      times={samples.map(({ at }) => at)}
      max={1}
      format={(value) => `${Math.round(value * 100)} %`}
      series={[
        { name: 'connected', colour: '--cell-asked', values: samples.map(({ connected }) => connected) },
        { name: 'signable', colour: '--cell-signed', values: samples.map(({ signable }) => signable), isFilled: true },
      ]}
    />
  );
}

function Validators({ view }: { view: SubnetViewBody }): ComponentChild {
  const [sorting, setSorting] = useState<Sorting>({ column: 'Weight', isDescending: true });
  const [wanted, setWanted] = useState('');
  const [status, setStatus] = useState('');
  const columns = useMemo(() => columnsOf(BigInt(view.totalWeight)), [view.totalWeight]);
  const rows = useMemo(() => {
    const lowered = wanted.trim().toLowerCase();
    const matching = view.validators.filter(
      (validator) =>
        (status === '' || validator.status === status) && (lowered === '' || textOf(validator).includes(lowered)),
    );
    return sorted(matching, columns, sorting);
  }, [view, columns, sorting, wanted, status]);
  return [
    <div class="filters">
      <Field
        label="Find"
        children={(id) => (
          <input
            id={id}
            type="search"
            value={wanted}
            placeholder="NodeID, version, reason"
            onInput={(event: Event) => setWanted((event.currentTarget as HTMLInputElement).value)}
          />
        )}
      />
      <Field
        label="State"
        children={(id) => (
          <select
            id={id}
            value={status}
            onChange={(event: Event) => setStatus((event.currentTarget as HTMLSelectElement).value)}
          >
            <option value="">{`all (${view.validators.length})`}</option>
            {STATUSES.map((name) => (
              <option
                key={name}
                value={name}
              >{`${name} (${view.validators.filter((validator) => validator.status === name).length})`}</option>
            ))}
          </select>
        )}
      />
      <p class="hint" role="status">{`${rows.length} of ${view.validators.length} validators`}</p>
    </div>,
    <VirtualTable<Validator>
      label={'Validators'}
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      sorting={sorting}
      onSorting={setSorting}
      maxHeight={520}
    />,
  ];
}

function keyOf({ index, nodes }: Validator): string {
  return `${index ?? 'inactive'} ${nodes[0]?.nodeId ?? ''}`;
}

function textOf({ nodes, reason, status }: Validator): string {
  const words = nodes.flatMap(({ nodeId, version, obstacle, lastRefusal }) => [
    nodeId,
    version,
    obstacle?.reason,
    lastRefusal?.text,
  ]);
  return [status, reason, ...words].join(' ').toLowerCase();
}

function columnsOf(total: bigint): Column<Validator>[] {
  const latency = ({ nodes }: Validator) => nodes[0]?.latency?.medianMs;
  const refusal = ({ nodes }: Validator) => nodes.find(({ lastRefusal }) => lastRefusal !== undefined)?.lastRefusal;
  const rank = ({ status }: Validator) => STATUSES.indexOf(status);
  return [
    {
      name: 'State',
      cell: ({ status }) => [<span class={`swatch ${status}`} aria-hidden />, status],
      compare: (a, b) => rank(a) - rank(b),
    },
    {
      name: 'Validator',
      className: 'wide',
      cell: ({ nodes }) => [
        <code title={nodes.map(({ nodeId }) => nodeId).join(', ')}>{shortened(nodes[0]?.nodeId ?? '', 10, 6)}</code>,
        nodes.length > 1 && ` +${nodes.length - 1}`,
      ],
      compare: (a, b) => (a.nodes[0]?.nodeId ?? '').localeCompare(b.nodes[0]?.nodeId ?? ''),
    },
    {
      name: 'Weight',
      className: 'number',
      cell: ({ weight }) => <span title={grouped(weight)}>{percentOf(BigInt(weight), total)}</span>,
      compare: (a, b) => compareBig(BigInt(a.weight), BigInt(b.weight)),
    },
    {
      name: 'Latency',
      className: 'number',
      cell: (row) => (
        <span title={titleOfLatency(row)}>{latency(row) === undefined ? '–' : milliseconds(latency(row) ?? 0)}</span>
      ),
      compare: (a, b) => (latency(a) ?? -1) - (latency(b) ?? -1),
    },
    {
      name: 'Version',
      cell: ({ nodes }) => nodes[0]?.version ?? '–',
      compare: (a, b) =>
        (a.nodes[0]?.version ?? '').localeCompare(b.nodes[0]?.version ?? '', undefined, { numeric: true }),
    },
    {
      name: 'Last answer',
      cell: ({ nodes }) => lastAnswer(nodes),
      compare: (a, b) =>
        (b.nodes[0]?.lastAnswer?.ageMs ?? Number.MAX_VALUE) - (a.nodes[0]?.lastAnswer?.ageMs ?? Number.MAX_VALUE),
    },
    {
      name: 'Last refusal',
      cell: (row) => {
        const last = refusal(row);
        return last === undefined ? (
          '–'
        ) : (
          <span title={`${last.text}, ${ago(last.ageMs)}`}>{`${last.code}: ${last.text}`}</span>
        );
      },
      compare: (a, b) => (refusal(a)?.code ?? -1_000) - (refusal(b)?.code ?? -1_000),
    },
    { name: 'Why', cell: ({ reason }) => <span title={reason}>{reason ?? ''}</span> },
  ];
}

function lastAnswer(nodes: Validator['nodes']): ComponentChild {
  const last = nodes[0]?.lastAnswer;
  return last === undefined ? 'never asked' : `${last.outcome.replace('_', ' ')}, ${ago(last.ageMs)}`;
}

function titleOfLatency({ nodes }: Validator): string | undefined {
  const latency = nodes[0]?.latency;
  return latency === undefined
    ? undefined
    : `99 % within ${milliseconds(latency.p99Ms)}, of ${latency.answers} answers`;
}

function compareBig(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
