import type { ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { SubnetHistoryBody } from '../../../api/subnets/history-records.ts';
import type { SubnetViewBody } from '../../../api/subnets/subnet-records.ts';
import type { ActivityBody } from '../../server/activity.ts';
import { useSession } from '../session.ts';
import { DEFAULT_QUORUM } from '../sign/quorum.ts';
import { NotLoaded } from '../sign/sign-failure.tsx';
import { Card, type Figure, Figures, Id, SelectField, TextField } from '../ui/controls.tsx';
import { ago, grouped, milliseconds, percentOf, shareOf, shortened } from '../ui/figures.ts';
import { KeptPlace } from '../ui/kept-focus.tsx';
import { LineChart } from '../ui/line-chart.tsx';
import { Stale, usePolled } from '../ui/polled.tsx';
import { type Column, nodeColumn, swatched, Table } from '../ui/table.tsx';
import { WeightOf } from '../ui/weight.tsx';
import { IfTheseStop } from './if-these-stop.tsx';
import { SignedShare } from './signed-share.tsx';
import { ValidatorHours } from './validator-hours.tsx';

type Samples = ActivityBody['networks'][number]['subnets'][number]['samples'];
type Validator = SubnetViewBody['validators'][number];
type Recorded = SubnetHistoryBody['validators'][number];

/** A view costs 5 units and one more for each full hundred of validators. */
const VIEW_EVERY_MS = 20_000;
const HISTORY_EVERY_MS = 60_000;
const STATUSES = ['signable', 'doubtful', 'unreachable', 'inactive'] as const;

interface SubnetDetailProps {
  readonly subnetId: string;
  /** What is looked for among its validators at first. */
  readonly wanted: string;
  readonly samples: Samples | undefined;
  /** Whether the service records its validators. */
  readonly isRecorded: boolean;
}

/** One subnet: how much of its weight can sign, over time and now, and its validators. */
export function SubnetDetail({ subnetId, wanted, samples, isRecorded }: SubnetDetailProps): ComponentChild {
  const { api, network, nameOf } = useSession();
  const polled = usePolled((signal) => api.of(network).subnet(subnetId, { signal }), VIEW_EVERY_MS, [
    network,
    subnetId,
  ]);
  const { value: view, error, reload } = polled;
  return (
    <KeptPlace>
      {view === undefined ? (
        <NotLoaded error={error} onRetry={reload}>
          <Card title={nameOf(subnetId, 'subnet') ?? shortened(subnetId)}>
            <p class="hint">Asking for its validators, and connecting them…</p>
          </Card>
        </NotLoaded>
      ) : (
        <Subnet view={view} polled={polled} wanted={wanted} samples={samples} isRecorded={isRecorded} />
      )}
    </KeptPlace>
  );
}

interface SubnetProps extends Pick<SubnetDetailProps, 'wanted' | 'samples' | 'isRecorded'> {
  readonly view: SubnetViewBody;
  readonly polled: ReturnType<typeof usePolled<SubnetViewBody>>;
}

function Subnet({ view, polled, wanted, samples, isRecorded }: SubnetProps): ComponentChild {
  const { nameOf, networkProblem } = useSession();
  const history = useHistory(view.subnetId, isRecorded);
  return (
    <Card
      title={nameOf(view.subnetId, 'subnet') ?? shortened(view.subnetId, 10, 8)}
      aside={
        <button type="button" class="button small" onClick={polled.reload}>
          Refresh
        </button>
      }
    >
      <Id value={view.subnetId} what="subnet ID" />
      <Stale polled={polled}>
        <Figures figures={figuresOf(view, networkProblem !== undefined)} />
        {samples !== undefined && samples.length > 1 && (
          <LineChart
            label="Weight since the start"
            times={samples.map(({ at }) => at)}
            max={1}
            format={(value) => `${Math.round(value * 100)} %`}
            series={[
              { name: 'connected', colour: 'asked', values: samples.map(({ connected }) => connected) },
              {
                name: 'signable',
                colour: 'signed',
                values: samples.map(({ signable }) => signable),
                isFilled: true,
              },
            ]}
          />
        )}
        <Validators view={view} history={history} begin={wanted} />
      </Stale>
    </Card>
  );
}

/** The record of the last day; undefined while there is none. */
function useHistory(subnetId: string, isRecorded: boolean): SubnetHistoryBody | undefined {
  const { api, network } = useSession();
  const load = async (signal: AbortSignal) =>
    isRecorded ? await api.of(network).subnetHistory(subnetId, { signal }) : undefined;
  return usePolled(load, HISTORY_EVERY_MS, [network, subnetId, isRecorded]).value;
}

function figuresOf(view: SubnetViewBody, isNetworkDown: boolean): Figure[] {
  const total = BigInt(view.totalWeight);
  const isEnough = view.highestQuorum >= DEFAULT_QUORUM;
  const signable = BigInt(view.signableWeight);
  return [
    [
      'Highest quorum now',
      `${view.highestQuorum} %`,
      isEnough ? 'enough for the usual 67 %' : 'too little for the usual 67 %',
      isNetworkDown ? '' : isEnough ? 'good' : 'bad',
    ],
    ['Signable', percentOf(signable, total), <WeightOf part={signable} total={total} subnetId={view.subnetId} />],
    [
      'Connected',
      percentOf(BigInt(view.connectedWeight), total),
      `${percentOf(BigInt(view.reachableWeight), total)} answered the last request`,
    ],
    [
      'Without a key',
      String(view.withoutKey.count),
      `${percentOf(BigInt(view.withoutKey.weight), total)} of the weight can never sign`,
    ],
    ['P-Chain height', grouped(view.pChainHeight), `${view.validators.length} validators`],
  ];
}

function Validators(props: {
  view: SubnetViewBody;
  history: SubnetHistoryBody | undefined;
  begin: string;
}): ComponentChild {
  const { view, history, begin } = props;
  const [wanted, setWanted] = useState(begin);
  const [status, setStatus] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const columns = useMemo(() => {
    const all = columnsOf(BigInt(view.totalWeight), view.subnetId);
    const toggle = (key: string) => setChosen((before) => before.symmetricDifference(new Set([key])));
    const added = [...(history === undefined ? [] : [signedColumn(history)]), stopColumn(chosen, toggle)];
    // Beside the weight, which a phone shows too.
    return all.toSpliced(all.findIndex(({ name }) => name === 'Weight') + 1, 0, ...added);
  }, [view.totalWeight, history, chosen]);
  const lowered = wanted.trim().toLowerCase();
  const rows = useMemo(() => {
    const isOfStatus = (validator: Validator) => status === '' || validator.status === status;
    return view.validators.filter((validator) => isOfStatus(validator) && textOf(validator).includes(lowered));
  }, [view, lowered, status]);
  const countOf = (name: string) => view.validators.filter((validator) => validator.status === name).length;
  return [
    <IfTheseStop view={view} history={history} chosen={chosen} onClear={() => setChosen(new Set())} />,
    <div class="filters">
      <TextField label="Find" type="search" placeholder="NodeID, version, reason" value={wanted} onValue={setWanted} />
      <SelectField
        label="State"
        value={status}
        onValue={setStatus}
        options={[
          ['', `all (${view.validators.length})`],
          ...STATUSES.map((name) => [name, `${name} (${countOf(name)})`] as const),
        ]}
      />
      <p class="hint" role="status">{`${rows.length} of ${view.validators.length} validators`}</p>
    </div>,
    <Table<Validator>
      label="Validators"
      columns={columns}
      rows={rows}
      keyOf={({ index, nodes }) => `${index ?? 'inactive'} ${nodes[0]?.nodeId ?? ''}`}
      sortedBy="Weight"
    />,
  ];
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

/** The share of the last day's questions that each validator signed; an opened row has its hours. */
function signedColumn({ subnetId, validators }: SubnetHistoryBody): Column<Validator> {
  const byKey = new Map(validators.map((validator) => [validator.publicKey, validator]));
  const recordOf = ({ publicKey = '' }: Validator): Recorded | undefined => byKey.get(publicKey);
  /** The worst is first in descending order, and one without a question last. */
  const missed = (row: Validator) => 1 - (recordOf(row)?.signedShare ?? 2);
  return {
    name: 'Signed',
    isNumber: true,
    cell: (row) => <SignedShare recorded={recordOf(row)} />,
    full(row) {
      const recorded = recordOf(row);
      const [nodeId] = recorded?.nodeIds ?? [];
      if (recorded === undefined || nodeId === undefined) return 'no record';
      return <ValidatorHours subnetId={subnetId} nodeId={nodeId} recorded={recorded} />;
    },
    compare: (a, b) => missed(a) - missed(b),
  };
}

/** Chooses validators that stop; on a phone in the opened row. One that has no key cannot sign anyway. */
function stopColumn(chosen: ReadonlySet<string>, toggle: (key: string) => void): Column<Validator> {
  const box = ({ publicKey, nodes }: Validator) =>
    publicKey !== undefined && (
      <input
        type="checkbox"
        class="stop-box"
        aria-label={`Suppose that ${nodes[0]?.nodeId ?? 'it'} stops`}
        checked={chosen.has(publicKey)}
        onClick={(event) => event.stopPropagation()}
        onChange={() => toggle(publicKey)}
      />
    );
  return {
    name: 'Stop',
    isWide: true,
    cell: box,
    full: (row) => [box(row), 'suppose that it stops'],
  };
}

function columnsOf(total: bigint, subnetId: string): Column<Validator>[] {
  const latency = ({ nodes }: Validator) => nodes[0]?.latency;
  const refusal = ({ nodes }: Validator) => nodes.find(({ lastRefusal }) => lastRefusal !== undefined)?.lastRefusal;
  const rank = ({ status }: Validator) => STATUSES.indexOf(status);
  const version = ({ nodes }: Validator) => nodes[0]?.version ?? '–';
  return [
    {
      name: 'State',
      cell: ({ status }) => swatched(status, status),
      compare: (a, b) => rank(a) - rank(b),
    },
    nodeColumn(({ nodes }) => nodes.map(({ nodeId }) => nodeId)),
    {
      name: 'Weight',
      isNumber: true,
      cell: ({ weight }) => shareOf(BigInt(weight), total),
      full: ({ weight }) => [
        `${shareOf(BigInt(weight), total)}, `,
        <WeightOf part={BigInt(weight)} total={total} subnetId={subnetId} />,
      ],
      compare: (a, b) => (BigInt(a.weight) < BigInt(b.weight) ? -1 : a.weight === b.weight ? 0 : 1),
    },
    {
      name: 'Latency',
      isNumber: true,
      isWide: true,
      cell: (row) => milliseconds(latency(row)?.medianMs),
      full: (row) => {
        const known = latency(row);
        if (known === undefined) return 'no answer yet';
        return `median ${milliseconds(known.medianMs)}, 99 % within ${milliseconds(known.p99Ms)}, of ${known.answers} answers`;
      },
      compare: (a, b) => (latency(a)?.medianMs ?? -1) - (latency(b)?.medianMs ?? -1),
    },
    {
      name: 'Version',
      isWide: true,
      cell: version,
      compare: (a, b) => version(a).localeCompare(version(b), undefined, { numeric: true }),
    },
    {
      name: 'Last answer',
      isWide: true,
      cell: ({ nodes }) => lastAnswer(nodes),
      compare: (a, b) =>
        (b.nodes[0]?.lastAnswer?.ageMs ?? Number.MAX_VALUE) - (a.nodes[0]?.lastAnswer?.ageMs ?? Number.MAX_VALUE),
    },
    {
      name: 'Last refusal',
      isWide: true,
      isLong: true,
      cell: (row) => {
        const last = refusal(row);
        return last === undefined ? '–' : `${last.code}: ${last.text}`;
      },
      full: (row) => {
        const last = refusal(row);
        return last === undefined ? '–' : `code ${last.code}, ${ago(last.ageMs)}: ${last.text}`;
      },
      compare: (a, b) => (refusal(a)?.code ?? -1_000) - (refusal(b)?.code ?? -1_000),
    },
    { name: 'Why', isWide: true, isLong: true, cell: ({ reason }) => reason ?? '–' },
  ];
}

function lastAnswer(nodes: Validator['nodes']): ComponentChild {
  const last = nodes[0]?.lastAnswer;
  return last === undefined ? 'never asked' : `${last.outcome.replace('_', ' ')}, ${ago(last.ageMs)}`;
}
