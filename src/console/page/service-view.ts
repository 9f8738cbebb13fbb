import { type ComponentChild, h } from 'preact';
import type { ReadinessBody } from '../../api/routes/health.ts';
import type { ActivityBody } from '../activity-record.ts';
import { failureOf } from './api-client.ts';
import { Badge, Card, Facts, type Figure, Figures, Id, usePolled } from './controls.ts';
import { bytes, dateTime, duration, grouped, milliseconds, percentOf, ratioOf } from './figures.ts';
import { Chart } from './lazy-chart.ts';
import { nameOf, type Session } from './session.ts';

const EVERY_MS = 5_000;
type Interval = ActivityBody['intervals'][number];

/** The service at a glance, for whoever runs it. */
export function ServiceView({
  session,
  readiness,
}: {
  session: Session;
  readiness: ReadinessBody | undefined;
}): ComponentChild {
  const { api, hasFigures } = session;
  const { value: activity, error } = usePolled(
    async (signal) => (hasFigures ? api.activity(signal) : undefined),
    EVERY_MS,
    [],
  );
  return h('div', { class: 'view' }, [
    readiness?.identityProblem !== undefined && h('p', { class: 'awaited', role: 'alert' }, readiness.identityProblem),
    activity !== undefined && h(Summary, { activity, readiness }),
    !hasFigures &&
      h(
        Card,
        { title: 'Figures' },
        h(
          'p',
          null,
          'The metrics of this service have an address of their own, so that not everybody who can send requests sees them. Its figures are there, and not here.',
        ),
      ),
    error !== undefined && h('p', { class: 'problem', role: 'alert' }, failureOf(error).message),
    activity !== undefined &&
      h('div', { class: 'two' }, [
        h(Card, { title: 'Requests' }, h(Requests, { activity })),
        h(Card, { title: 'Time to the answer' }, h(Latency, { activity })),
      ]),
    h(
      'div',
      { class: 'two' },
      (readiness?.networks ?? []).map((network) =>
        h(NetworkCard, {
          key: network.name,
          network,
          session,
          activity: activity?.networks.find(({ name }) => name === network.name),
        }),
      ),
    ),
    activity !== undefined && h(Parts, { activity }),
  ]);
}

function Summary({
  activity,
  readiness,
}: {
  activity: ActivityBody;
  readiness: ReadinessBody | undefined;
}): ComponentChild {
  const { intervals } = activity;
  const sumOf = (count: (interval: Interval) => number) =>
    intervals.reduce((sum, interval) => sum + count(interval), 0);
  const requests = sumOf(({ requests: counts }) => counts['2xx'] + counts['4xx'] + counts['5xx'] + counts.gone);
  const failed = sumOf(({ requests: counts }) => counts['5xx']);
  const signed = sumOf(({ aggregations }) => aggregations.signed);
  const unsigned = sumOf(({ aggregations }) => aggregations.failed);
  const status = readiness?.status ?? 'starting';
  const figures: readonly Figure[] = [
    [
      'Service',
      status,
      `for ${duration(activity.now - activity.startedAt)}`,
      status === 'up' ? 'good' : status === 'down' ? 'bad' : 'warn',
    ],
    ['Requests', grouped(requests), `in the last hour, ${activity.requestsInFlight} now`],
    [
      'Failed',
      percentOf(BigInt(failed), BigInt(requests)),
      `${grouped(failed)} of them with a 5xx`,
      failed > 0 ? 'warn' : '',
    ],
    ['Messages signed', grouped(signed), `${grouped(unsigned)} could not be`],
    ['Version', activity.version, `Node ${activity.node.replace(/^v/, '')}, BLS by ${activity.blsBackend}`],
  ];
  return h(
    Card,
    { title: 'At a glance', aside: h('span', { class: 'hint' }, `since ${dateTime(activity.startedAt)}`) },
    h(Figures, { figures }),
  );
}

function Requests({ activity }: { activity: ActivityBody }): ComponentChild {
  const { intervals } = activity;
  return h(Chart, {
    label: `Every ${activity.intervalMs / 1_000} s, by status`,
    times: intervals.map(({ endsAt }) => endsAt),
    isStepped: true,
    format: (value) => (Number.isInteger(value) ? grouped(value) : ''),
    series: [
      {
        name: 'answered',
        colour: '--cell-signed',
        values: intervals.map(({ requests }) => requests['2xx']),
        isFilled: true,
      },
      { name: 'refused (4xx)', colour: '--cell-silent', values: intervals.map(({ requests }) => requests['4xx']) },
      { name: 'failed (5xx)', colour: '--cell-refused', values: intervals.map(({ requests }) => requests['5xx']) },
    ],
  });
}

function Latency({ activity }: { activity: ActivityBody }): ComponentChild {
  const { intervals } = activity;
  return h(Chart, {
    label: 'Of all requests to the API',
    times: intervals.map(({ endsAt }) => endsAt),
    format: (value) => milliseconds(Math.round(value)),
    series: [
      { name: '99 %', colour: '--cell-silent', values: intervals.map(({ p99Ms }) => p99Ms ?? null) },
      { name: 'median', colour: '--cell-signed', values: intervals.map(({ medianMs }) => medianMs ?? null) },
    ],
  });
}

const TONES = { up: 'good', degraded: 'warn', starting: 'warn', stopping: 'warn', down: 'bad' } as const;

function NetworkCard(props: {
  network: ReadinessBody['networks'][number];
  session: Session;
  activity: ActivityBody['networks'][number] | undefined;
}): ComponentChild {
  const { network, session, activity } = props;
  const { name, status, reason, nodeId, subnets } = network;
  return h(Card, { title: [`Network ${name} `, h(Badge, { tone: TONES[status] }, status)] }, [
    reason !== undefined && h('p', { class: 'problem' }, reason),
    h(Facts, {
      rows: [
        nodeId !== undefined && ['Identity', h(Id, { value: nodeId, what: 'NodeID of the service' })],
        activity?.pChainHeight !== undefined && ['P-Chain height', grouped(activity.pChainHeight)],
        activity !== undefined && [
          'Peers',
          `${grouped(activity.peersConnected)} connected, ${grouped(activity.peersWanted)} wanted, ${grouped(activity.peersConnecting)} being dialled`,
        ],
        activity !== undefined && [
          'Aggregations',
          `${grouped(activity.aggregationsInFlight)} under way, room for ${grouped(activity.aggregationsLimit)}`,
        ],
      ],
    }),
    h(
      'ul',
      { class: 'subnet-list' },
      subnets.map((subnet) => {
        const total = BigInt(subnet.totalWeight ?? '0');
        const connected = BigInt(subnet.connectedWeight ?? '0');
        return h(
          'li',
          { key: subnet.subnetId },
          h('a', { class: 'subnet-row', href: `#/subnets/${subnet.subnetId}` }, [
            h('span', { class: 'subnet-name' }, [
              h('span', { class: `dot ${subnet.status}`, 'aria-hidden': true }),
              h('strong', null, nameOf(subnet.subnetId, session) ?? subnet.subnetId),
            ]),
            h('span', { class: 'subnet-weight' }, [
              h(
                'span',
                { class: 'mini-bar', 'aria-hidden': true },
                h('span', { style: { transform: `scaleX(${ratioOf(connected, total)})` } }),
              ),
              h('span', null, `${percentOf(connected, total)} connected`),
            ]),
            subnet.reason !== undefined && h('span', { class: 'subnet-reason' }, subnet.reason),
          ]),
        );
      }),
    ),
  ]);
}

function Parts({ activity }: { activity: ActivityBody }): ComponentChild {
  const { workers, sharedStore, upstreams } = activity;
  return h('div', { class: 'two' }, [
    h(
      Card,
      { title: 'Process' },
      h(Facts, {
        rows: [
          ['BLS threads', `${workers.threads}: ${workers.jobsRunning} jobs running, ${workers.jobsWaiting} waiting`],
          ['Memory', bytes(activity.memoryBytes)],
          [
            'Shared store',
            sharedStore === undefined
              ? 'none: this replica works for itself'
              : sharedStore.isConnected
                ? h(Badge, { tone: 'good' }, 'connected')
                : h(Badge, { tone: 'bad' }, 'away'),
          ],
        ],
      }),
    ),
    h(
      Card,
      { title: 'Upstreams' },
      upstreams.length === 0
        ? h(
            'p',
            { class: 'hint' },
            'None is configured: the data API, the metrics service and the node RPC are not passed on.',
          )
        : h(Facts, {
            rows: upstreams.map(
              ({ name, isLeftAlone, requests }) =>
                [
                  name,
                  [
                    h(Badge, { tone: isLeftAlone ? 'bad' : 'good' }, isLeftAlone ? 'left alone' : 'in use'),
                    requests.length === 0
                      ? 'nothing asked yet'
                      : requests
                          .map(({ outcome, count }) => `${grouped(count)} ${outcome.replaceAll('_', ' ')}`)
                          .join(', '),
                  ],
                ] as const,
            ),
          }),
    ),
  ]);
}
