import type { ComponentChild } from 'preact';
import type { ReadinessBody } from '../../../api/health/health.ts';
import type { ActivityBody } from '../../server/activity-record.ts';
import { failureOf } from '../api-client.ts';
import { nameOf, type Session } from '../session.ts';
import { Badge, Card, Facts, type Figure, Figures, Id, usePolled } from '../ui/controls.tsx';
import { bytes, dateTime, duration, grouped, milliseconds, percentOf, ratioOf } from '../ui/figures.ts';
import { Chart } from '../ui/lazy-chart.tsx';

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
  return (
    <div class="view">
      {readiness?.identityProblem !== undefined && (
        <p class="awaited" role="alert">
          {readiness.identityProblem}
        </p>
      )}
      {activity !== undefined && <Summary activity={activity} readiness={readiness} />}
      {!hasFigures && (
        <Card title="Figures">
          <p>
            The metrics of this service have an address of their own, so that not everybody who can send requests sees
            them. Its figures are there, and not here.
          </p>
        </Card>
      )}
      {error !== undefined && (
        <p class="problem" role="alert">
          {failureOf(error).message}
        </p>
      )}
      {activity !== undefined && (
        <div class="two">
          <Card title="Requests">
            <Requests activity={activity} />
          </Card>
          <Card title="Time to the answer">
            <Latency activity={activity} />
          </Card>
        </div>
      )}
      <div class="two">
        {(readiness?.networks ?? []).map((network) => (
          <NetworkCard
            key={network.name}
            network={network}
            session={session}
            activity={activity?.networks.find(({ name }) => name === network.name)}
          />
        ))}
      </div>
      {activity !== undefined && <Parts activity={activity} />}
    </div>
  );
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
  return (
    <Card title="At a glance" aside={<span class="hint">{`since ${dateTime(activity.startedAt)}`}</span>}>
      <Figures figures={figures} />
    </Card>
  );
}

function Requests({ activity }: { activity: ActivityBody }): ComponentChild {
  const { intervals } = activity;
  return (
    <Chart
      label={`Every ${activity.intervalMs / 1_000} s, by status`}
      times={intervals.map(({ endsAt }) => endsAt)}
      isStepped
      format={(value) => (Number.isInteger(value) ? grouped(value) : '')}
      series={[
        {
          name: 'answered',
          colour: '--cell-signed',
          values: intervals.map(({ requests }) => requests['2xx']),
          isFilled: true,
        },
        { name: 'refused (4xx)', colour: '--cell-timed_out', values: intervals.map(({ requests }) => requests['4xx']) },
        { name: 'failed (5xx)', colour: '--cell-refused', values: intervals.map(({ requests }) => requests['5xx']) },
      ]}
    />
  );
}

function Latency({ activity }: { activity: ActivityBody }): ComponentChild {
  const { intervals } = activity;
  return (
    <Chart
      label="Of all requests to the API"
      times={intervals.map(({ endsAt }) => endsAt)}
      format={(value) => milliseconds(Math.round(value))}
      series={[
        { name: '99 %', colour: '--cell-timed_out', values: intervals.map(({ p99Ms }) => p99Ms ?? null) },
        { name: 'median', colour: '--cell-signed', values: intervals.map(({ medianMs }) => medianMs ?? null) },
      ]}
    />
  );
}

const TONES = { up: 'good', degraded: 'warn', starting: 'warn', stopping: 'warn', down: 'bad' } as const;

function NetworkCard(props: {
  network: ReadinessBody['networks'][number];
  session: Session;
  activity: ActivityBody['networks'][number] | undefined;
}): ComponentChild {
  const { network, session, activity } = props;
  const { name, status, reason, nodeId, subnets } = network;
  return (
    <Card title={[`Network ${name} `, <Badge tone={TONES[status]}>{status}</Badge>]}>
      {reason !== undefined && <p class="problem">{reason}</p>}
      <Facts
        rows={[
          nodeId !== undefined && ['Identity', <Id value={nodeId} what="NodeID of the service" />],
          activity?.pChainHeight !== undefined && ['P-Chain height', grouped(activity.pChainHeight)],
          activity !== undefined && [
            'Peers',
            `${grouped(activity.peersConnected)} connected, ${grouped(activity.peersWanted)} wanted, ${grouped(activity.peersConnecting)} being dialled`,
          ],
          activity !== undefined && [
            'Aggregations',
            `${grouped(activity.aggregationsInFlight)} under way, room for ${grouped(activity.aggregationsLimit)}`,
          ],
        ]}
      />
      <ul class="subnet-list">
        {subnets.map((subnet) => {
          const total = BigInt(subnet.totalWeight ?? '0');
          const connected = BigInt(subnet.connectedWeight ?? '0');
          return (
            <li key={subnet.subnetId}>
              <a class="subnet-row" href={`#/subnets/${subnet.subnetId}`}>
                <span class="subnet-name">
                  <span class={`dot ${subnet.status}`} aria-hidden />
                  <strong>{nameOf(subnet.subnetId, session) ?? subnet.subnetId}</strong>
                </span>
                <span class="subnet-weight">
                  <span class="mini-bar" aria-hidden>
                    <span style={{ transform: `scaleX(${ratioOf(connected, total)})` }} />
                  </span>
                  <span>{`${percentOf(connected, total)} connected`}</span>
                </span>
                {subnet.reason !== undefined && <span class="subnet-reason">{subnet.reason}</span>}
              </a>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

function Parts({ activity }: { activity: ActivityBody }): ComponentChild {
  const { workers, sharedStore, upstreams } = activity;
  return (
    <div class="two">
      <Card title="Process">
        <Facts
          rows={[
            ['BLS threads', `${workers.threads}: ${workers.jobsRunning} jobs running, ${workers.jobsWaiting} waiting`],
            ['Memory', bytes(activity.memoryBytes)],
            [
              'Shared store',
              sharedStore === undefined ? (
                'none: this replica works for itself'
              ) : sharedStore.isConnected ? (
                <Badge tone="good">connected</Badge>
              ) : (
                <Badge tone="bad">away</Badge>
              ),
            ],
          ]}
        />
      </Card>
      <Card title="Upstreams">
        {upstreams.length === 0 ? (
          <p class="hint">None is configured: the data API, the metrics service and the node RPC are not passed on.</p>
        ) : (
          <Facts
            rows={upstreams.map(
              ({ name, isLeftAlone, requests }) =>
                [
                  name,
                  [
                    <Badge tone={isLeftAlone ? 'bad' : 'good'}>{isLeftAlone ? 'left alone' : 'in use'}</Badge>,
                    requests.length === 0
                      ? 'nothing asked yet'
                      : requests
                          .map(({ outcome, count }) => `${grouped(count)} ${outcome.replaceAll('_', ' ')}`)
                          .join(', '),
                  ],
                ] as const,
            )}
          />
        )}
      </Card>
    </div>
  );
}
