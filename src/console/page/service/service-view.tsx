import type { ComponentChild } from 'preact';
import type { ReadinessBody } from '../../../api/health/health.ts';
import type { ActivityBody } from '../../server/activity.ts';
import { failureOf } from '../console-api.ts';
import { useSession } from '../session.ts';
import { SubnetRow } from '../subnets/subnet-row.tsx';
import { Badge, Card, Facts, type Figure, Figures, Id } from '../ui/controls.tsx';
import { bytes, dateTime, duration, grouped, milliseconds, percentOf, shortened } from '../ui/figures.ts';
import { LineChart } from '../ui/line-chart.tsx';
import { type Polled, Stale, usePolled } from '../ui/polled.tsx';

const EVERY_MS = 5_000;
type Interval = ActivityBody['intervals'][number];

/** The service at a glance, for operators. */
export function ServiceView({ readiness }: { readiness: Polled<ReadinessBody> }): ComponentChild {
  const { api } = useSession();
  const polled = usePolled((signal) => api.activity(signal), EVERY_MS, [api.key]);
  const activity = polled.value;
  const problem = readiness.value?.identityProblem;
  return (
    <div class="view">
      {problem !== undefined && (
        <p class="awaited" role="alert">
          {problem}
        </p>
      )}
      {activity === undefined && polled.error !== undefined && readiness.error === undefined && (
        <Card title="Figures">
          <p class="problem">{failureOf(polled.error).message}</p>
        </Card>
      )}
      <Stale polled={activity !== undefined && polled.error !== undefined ? polled : readiness}>
        {activity !== undefined && [
          <Summary activity={activity} readiness={readiness.value} />,
          <Charts activity={activity} />,
        ]}
        <div class="two">
          {(readiness.value?.networks ?? []).map((network) => (
            <NetworkCard
              key={network.name}
              network={network}
              activity={activity?.networks.find(({ name }) => name === network.name)}
            />
          ))}
        </div>
        {activity !== undefined && <Parts activity={activity} />}
      </Stale>
    </div>
  );
}

function Summary(props: { activity: ActivityBody; readiness: ReadinessBody | undefined }): ComponentChild {
  const { activity, readiness } = props;
  const { intervals } = activity;
  const sumOf = (count: (interval: Interval) => number) =>
    intervals.reduce((sum, interval) => sum + count(interval), 0);
  const requests = sumOf(({ requests: counts }) => counts['2xx'] + counts['4xx'] + counts['5xx'] + counts.gone);
  const failed = sumOf(({ requests: counts }) => counts['5xx']);
  const signed = sumOf(({ aggregations }) => aggregations.signed);
  const unsigned = sumOf(({ aggregations }) => aggregations.failed);
  const status = readiness?.status ?? 'starting';
  const figures: readonly Figure[] = [
    ['Service', status, `started ${duration(activity.now - activity.startedAt)} ago`, TONES[status]],
    ['Requests', grouped(requests), 'in the last hour, without what the console reads'],
    ['Failed', percentOf(BigInt(failed), BigInt(requests)), `${grouped(failed)} with a 5xx`, failed > 0 ? 'warn' : ''],
    ['Messages signed', grouped(signed), `${grouped(unsigned)} not signed`],
    ['Version', activity.version, `Node ${activity.node.replace(/^v/, '')}, BLS by ${activity.blsBackend}`],
  ];
  return (
    <Card title="At a glance" aside={<span class="hint">{`since ${dateTime(activity.startedAt)}`}</span>}>
      <Figures figures={figures} />
    </Card>
  );
}

function Charts({ activity: { intervals, intervalMs, startedAt } }: { activity: ActivityBody }): ComponentChild {
  const times = intervals.map(({ endsAt }) => endsAt);
  const countsOf = (status: keyof Interval['requests']) => intervals.map(({ requests }) => requests[status]);
  // Both charts have one axis.
  const since = times[0] === undefined ? undefined : Math.max(startedAt, times[0] - intervalMs);
  return (
    <div class="two">
      <Card title="Requests">
        <LineChart
          label={`Every ${intervalMs / 1_000} s, by status`}
          times={times}
          since={since}
          areCounts
          format={(value) => (Number.isInteger(value) ? grouped(value) : '')}
          series={[
            { name: 'answered', colour: 'signed', values: countsOf('2xx'), isFilled: true },
            { name: 'refused (4xx)', colour: 'timed_out', values: countsOf('4xx') },
            { name: 'failed (5xx)', colour: 'refused', values: countsOf('5xx') },
          ]}
        />
      </Card>
      <Card title="Time to the answer">
        <LineChart
          label="Of all requests to the API"
          times={times}
          since={since}
          format={milliseconds}
          series={[
            { name: '99 %', colour: 'timed_out', values: intervals.map(({ p99Ms }) => p99Ms) },
            { name: 'median', colour: 'signed', values: intervals.map(({ medianMs }) => medianMs) },
          ]}
        />
      </Card>
    </div>
  );
}

const TONES = { up: 'good', degraded: 'warn', starting: 'warn', stopping: 'warn', down: 'bad' } as const;

function NetworkCard(props: {
  network: ReadinessBody['networks'][number];
  activity: ActivityBody['networks'][number] | undefined;
}): ComponentChild {
  const { network, activity } = props;
  const { name, status, reason, nodeId } = network;
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
            `${grouped(activity.aggregationsInFlight)} of ${grouped(activity.aggregationsLimit)} running`,
          ],
        ]}
      />
      {activity?.feedProblem !== undefined && <p class="problem">The feed is stopped: {activity.feedProblem}</p>}
      {activity !== undefined && activity.watchedChains.length > 0 && <WatchedChains chains={activity.watchedChains} />}
      <ul class="list">
        {network.subnets.map((subnet) => (
          <SubnetRow key={subnet.subnetId} subnet={subnet} isNetworkDown={status === 'down'} />
        ))}
      </ul>
    </Card>
  );
}

/** How far the feed is behind the heads of the chains. */
function WatchedChains({ chains }: { chains: ActivityBody['networks'][number]['watchedChains'] }): ComponentChild {
  const { nameOf } = useSession();
  return (
    <Facts
      rows={chains.map(
        (chain) =>
          [
            `Feed of ${nameOf(chain.blockchainId, 'chain') ?? shortened(chain.blockchainId)}`,
            distanceOf(chain),
          ] as const,
      )}
    />
  );
}

function distanceOf(chain: ActivityBody['networks'][number]['watchedChains'][number]): ComponentChild {
  const { headBlock, confirmedBlock, distanceBlocks, distanceSeconds, problem } = chain;
  const head = problem === undefined ? 'the head' : 'the last known head';
  const distance =
    headBlock === undefined
      ? 'head not known yet'
      : distanceBlocks === 0
        ? `at ${head}, block ${grouped(headBlock)}`
        : `${grouped(distanceBlocks)} blocks behind block ${grouped(headBlock)}, ${duration(1_000 * distanceSeconds)} old`;
  const confirmed = confirmedBlock === undefined ? '' : `, confirmed up to block ${grouped(confirmedBlock)}`;
  if (problem === undefined) return `${distance}${confirmed}`;
  return [<Badge tone="bad">not read</Badge>, `${distance}${confirmed}: ${problem}`];
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
                'none'
              ) : sharedStore.isConnected ? (
                <Badge tone="good">connected</Badge>
              ) : (
                <Badge tone="bad">not connected</Badge>
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
              ({ name, isSuspended, requests }) =>
                [
                  name,
                  [
                    <Badge tone={isSuspended ? 'bad' : 'good'}>{isSuspended ? 'suspended' : 'in use'}</Badge>,
                    requests.length === 0
                      ? 'no requests yet'
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
