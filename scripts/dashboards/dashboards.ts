import type { Dashboard, Panel, Query } from './grafana.ts';

const P = 'signature_aggregator_';
const NET = 'network=~"$network"';
/** Long enough for four scrapes of the slowest scraper in use. */
const RATE = '$__rate_interval';

const rate = (metric: string, labels: string, by: string): string =>
  `sum by (${by}) (rate(${P}${metric}{${labels}}[${RATE}]))`;

const quantile = (q: number, metric: string, labels: string, by = ''): string =>
  `histogram_quantile(${q}, sum by (${['le', by].filter(Boolean).join(', ')}) (rate(${P}${metric}_bucket{${labels}}[${RATE}])))`;

const quantiles = (metric: string, labels: string): Query[] =>
  [0.5, 0.95, 0.99].map((q) => ({ expr: quantile(q, metric, labels), legend: `p${q * 100}` }));

/** What is used beside what may be used. */
const usedOf = (title: string, description: string, unit: Panel['unit'], used: string, limit: string): Panel => ({
  ...{ title, description, unit },
  queries: [
    { expr: used, legend: 'used' },
    { expr: limit, legend: 'limit' },
  ],
});

const overview: Dashboard = {
  uid: 'signature-aggregator-overview',
  title: 'Signature aggregator: overview',
  description: 'Whether people get their signed messages, how fast, and what stands in the way where they do not.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Networks',
          description: 'The status of each network. One that is down or degraded says why at /health/ready.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: `${P}network_status{${NET}} == 1`, legend: '{{network}} {{status}} {{instance}}' }],
        },
        {
          title: 'Connected weight',
          description: 'Below the quorum nothing can be signed. The dashboard of the subnet shows more.',
          unit: 'percentunit',
          kind: 'stat',
          queries: [
            {
              expr: `min by (network, subnet_id) (${P}connected_weight_ratio{${NET}})`,
              legend: '{{network}} {{subnet_id}}',
            },
          ],
        },
        {
          title: 'What runs',
          description: 'Versions beside each other are normal during an update only.',
          unit: 'short',
          kind: 'stat',
          queries: [
            { expr: `count by (version, bls_backend) (${P}build_info)`, legend: '{{version}} {{bls_backend}}' },
          ],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by status',
          description: 'All routes together. 4xx are mistakes of clients and limits, 5xx are ours or of the networks.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: `sum by (status) (rate(${P}http_requests_total[${RATE}]))`, legend: '{{status}}' }],
        },
        {
          title: 'Requests by route',
          description: 'Probes and scrapes included.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: `sum by (route) (rate(${P}http_requests_total[${RATE}]))`, legend: '{{route}}' }],
        },
        {
          title: 'Latency by route, p95',
          description: 'Of answers of class 2xx: refusals are quick, and would hide what is slow.',
          unit: 's',
          queries: [
            {
              expr: quantile(0.95, 'http_request_duration_seconds', 'status_class="2xx"', 'route'),
              legend: '{{route}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Aggregations',
      panels: [
        {
          title: 'Ends of aggregations',
          description:
            'signed, aborted (the client left), or the code of the error: docs/errors.md says what to do about each.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: rate('aggregation_duration_seconds_count', NET, 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: 'Time to a signed message',
          description: 'Repeated messages included, which are answered from memory.',
          unit: 's',
          queries: quantiles('aggregation_duration_seconds', `${NET}, outcome="signed"`),
        },
        {
          title: 'Stages, p95',
          description:
            'resolve: the P-Chain API; connect: waiting for peers; collect: waiting for validators; verify: arithmetic.',
          unit: 's',
          queries: [{ expr: quantile(0.95, 'aggregation_stage_duration_seconds', NET, 'stage'), legend: '{{stage}}' }],
        },
        {
          title: 'Answered from memory',
          description: 'Finished messages, and failures of a moment ago.',
          unit: 'reqps',
          queries: [
            { expr: `sum(rate(${P}result_cache_hits_total{${NET}}[${RATE}]))`, legend: 'signed message' },
            { expr: `sum(rate(${P}remembered_failures_total{${NET}}[${RATE}])) or vector(0)`, legend: 'failure' },
          ],
        },
        usedOf(
          'Aggregations admitted',
          'Aggregations that run or wait. Requests beyond the limit, or the share of a client or subnet, get 503 overloaded.',
          'short',
          `sum by (instance) (${P}aggregations_admitted{${NET}})`,
          `sum by (instance) (${P}aggregations_limit{${NET}})`,
        ),
        {
          title: 'Refused before any work',
          description: 'Requests refused as overloaded, by what was used up.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (reason) (rate(${P}admission_refusals_total{${NET}}[${RATE}])) or vector(0)`,
              legend: '{{reason}}',
            },
          ],
        },
      ],
    },
    {
      title: 'What we depend on',
      panels: [
        {
          title: 'P-Chain and info API, by outcome',
          description: 'Anything but ok for longer means that heights and sets cannot be read.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: rate('api_calls_total', NET, 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: 'P-Chain and info API, p95',
          description: 'All attempts of a call together.',
          unit: 's',
          queries: [{ expr: quantile(0.95, 'api_call_duration_seconds', NET, 'method'), legend: '{{method}}' }],
        },
        {
          title: 'P-Chain height and the index',
          description: 'The index of L1 validations should be at the height of the chain.',
          unit: 'short',
          queries: [
            { expr: `max by (network) (${P}p_chain_height{${NET}})`, legend: 'chain {{network}}' },
            { expr: `min by (network) (${P}l1_index_highest_block{${NET}})`, legend: 'index {{network}}' },
          ],
        },
        {
          title: 'Upstreams, by outcome',
          description: 'Requests passed on. Empty where none is configured.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (upstream, outcome) (rate(${P}upstream_requests_total[${RATE}])) or vector(0)`,
              legend: '{{upstream}} {{outcome}}',
            },
          ],
        },
        {
          title: 'Units that requests cost in a minute',
          description:
            'By API key, beside its limit. Without a key the name is empty: then the limit is for each address, and what is used is of all.',
          unit: 'short',
          queries: [
            { expr: `60 * sum by (key) (rate(${P}access_units_total[${RATE}]))`, legend: 'used {{key}}' },
            { expr: `max by (key) (${P}access_units_per_minute_limit) or vector(0)`, legend: 'limit {{key}}' },
          ],
        },
        {
          title: 'Units by kind of route',
          description: 'What the load is made of: aggregations, data, calls of nodes.',
          unit: 'ops',
          isStacked: true,
          queries: [{ expr: `sum by (routes) (rate(${P}access_units_total[${RATE}]))`, legend: '{{routes}}' }],
        },
      ],
    },
  ],
};

const SUBNET = `${NET}, subnet_id=~"$subnet"`;

const subnet: Dashboard = {
  uid: 'signature-aggregator-subnet',
  title: 'Signature aggregator: one subnet',
  description: 'The primary network, or a tracked L1: whether its validators can be reached, and whether they sign.',
  variables: [
    {
      name: 'subnet',
      label: 'Subnet',
      metric: `${P}connected_weight_ratio`,
      where: '{network=~"$network"}',
      ofLabel: 'subnet_id',
    },
  ],
  rows: [
    {
      title: 'Weight',
      panels: [
        {
          title: 'Enough weight connected',
          description: '1 where requests can be served. Who is missing: GET …/subnets/{subnetId}.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: `${P}subnet_up{${SUBNET}}`, legend: '{{subnet_id}} {{instance}}' }],
        },
        {
          title: 'Connected weight',
          description: 'Share of the total weight; validators without a key and inactive ones are in the total.',
          unit: 'percentunit',
          max: 1,
          queries: [{ expr: `${P}connected_weight_ratio{${SUBNET}}`, legend: '{{subnet_id}} {{instance}}' }],
        },
        {
          title: 'Signable weight',
          description:
            'Share of the total weight that is connected and has nothing known against it: the highest quorum that can be signed now.',
          unit: 'percentunit',
          max: 1,
          queries: [{ expr: `${P}signable_weight_ratio{${SUBNET}}`, legend: '{{subnet_id}} {{instance}}' }],
        },
        {
          title: 'Total weight',
          description: 'A jump is a change of the validator set.',
          unit: 'short',
          queries: [{ expr: `max by (subnet_id) (${P}subnet_total_weight{${SUBNET}})`, legend: '{{subnet_id}}' }],
        },
      ],
    },
    {
      title: 'Validators',
      panels: [
        {
          title: 'What validators did',
          description: 'signed, refused, timed_out, unreachable, invalid_signature, not_asked.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: rate('validator_outcomes_total', SUBNET, 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: 'Of the heavy ones',
          description: 'Those with a tenth of the weight or more: a quorum hangs on each of them.',
          unit: 'reqps',
          isStacked: true,
          queries: [
            {
              expr: `sum by (outcome) (rate(${P}validator_outcomes_total{${SUBNET}, weight_class="heavy"}[${RATE}])) or vector(0)`,
              legend: '{{outcome}}',
            },
          ],
        },
        {
          title: 'Share that signs',
          description: 'Of the attempts at validators, by their weight.',
          unit: 'percentunit',
          max: 1,
          queries: [
            {
              expr: `sum by (weight_class) (rate(${P}validator_outcomes_total{${SUBNET}, outcome="signed"}[${RATE}])) / sum by (weight_class) (rate(${P}validator_outcomes_total{${SUBNET}}[${RATE}]))`,
              legend: '{{weight_class}}',
            },
          ],
        },
      ],
    },
  ],
};

const peers: Dashboard = {
  uid: 'signature-aggregator-peers',
  title: 'Signature aggregator: peers',
  description: 'Connections to validators, and what goes over them.',
  rows: [
    {
      title: 'Connections',
      panels: [
        {
          title: 'Peers by state',
          description: 'Wanted are the validators of all subnets that are asked for.',
          unit: 'short',
          queries: [
            { expr: `sum by (network) (${P}peer_wanted{${NET}})`, legend: 'wanted {{network}}' },
            {
              expr: `sum by (network, state) (${P}peer_wanted_nodes{${NET}})`,
              legend: 'wanted, {{state}} {{network}}',
            },
            { expr: `sum by (network) (${P}peer_connections{${NET}})`, legend: 'connected {{network}}' },
            { expr: `sum by (network) (${P}peer_connecting{${NET}})`, legend: 'connecting {{network}}' },
            { expr: `sum by (network) (${P}peer_known_addresses{${NET}})`, legend: 'with a known address {{network}}' },
          ],
        },
        {
          title: 'Missing validators, by cause',
          description: 'no_address: no peer has told of it yet. unreachable: its address does not answer.',
          unit: 'short',
          isStacked: true,
          queries: [
            {
              expr: `sum by (cause) (${P}peer_wanted_nodes{${NET}, state="missing"}) or vector(0)`,
              legend: '{{cause}}',
            },
          ],
        },
        {
          title: 'Connections that ended, by cause',
          description:
            'not_admitted again and again: the L1 does not list our NodeID, or another process has the same one.',
          unit: 'ops',
          queries: [
            { expr: `sum by (cause) (rate(${P}peer_closed_total{${NET}}[${RATE}])) or vector(0)`, legend: '{{cause}}' },
          ],
        },
        {
          title: 'Dials and handshakes',
          description: 'Many dials and few handshakes: addresses that lead nowhere.',
          unit: 'ops',
          queries: [
            { expr: rate('peer_dials_total', NET, 'network'), legend: 'dials {{network}}' },
            { expr: rate('peer_ready_total', NET, 'network'), legend: 'handshakes {{network}}' },
          ],
        },
      ],
    },
    {
      title: 'Requests to validators',
      panels: [
        {
          title: 'App requests, by outcome',
          description: 'What the peer network made of them; response is any answer, right or wrong.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: rate('peer_app_request_duration_seconds_count', NET, 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: 'Time of answers',
          description: 'Of app requests that were answered.',
          unit: 's',
          queries: quantiles('peer_app_request_duration_seconds', `${NET}, outcome="response"`),
        },
        usedOf(
          'Queries under way',
          'Signature requests that wait for an answer, over all aggregations.',
          'short',
          `sum by (network) (${P}queries_in_flight{${NET}})`,
          `sum by (network) (${P}queries_limit{${NET}})`,
        ),
        usedOf(
          'Bytes of large queries under way',
          'Messages beyond 4 KiB share this room, and wait for each other.',
          'bytes',
          `sum by (network) (${P}large_queries_in_flight_bytes{${NET}})`,
          `sum by (network) (${P}large_queries_limit_bytes{${NET}})`,
        ),
        {
          title: 'Traffic',
          description: 'Bytes of frames within TLS.',
          unit: 'Bps',
          queries: [{ expr: rate('peer_traffic_bytes_total', NET, 'direction'), legend: '{{direction}}' }],
        },
        {
          title: 'Addresses from gossip',
          description: 'invalid ones were signed by nobody, or by another.',
          unit: 'ops',
          queries: [
            {
              expr: `sum by (result) (rate(${P}peer_addresses_total{${NET}}[${RATE}])) or vector(0)`,
              legend: '{{result}}',
            },
          ],
        },
      ],
    },
  ],
};

const processes: Dashboard = {
  uid: 'signature-aggregator-process',
  title: 'Signature aggregator: BLS and process',
  description: 'Threads for arithmetic, the event loop, memory.',
  rows: [
    {
      title: 'BLS',
      panels: [
        {
          title: 'Jobs of the BLS threads',
          description: 'Waiting jobs that do not go away: the machine has too few cores for what is asked.',
          unit: 'short',
          queries: [
            { expr: `sum by (instance) (${P}bls_jobs_running)`, legend: 'running {{instance}}' },
            { expr: `sum by (instance) (${P}bls_jobs_waiting)`, legend: 'waiting {{instance}}' },
          ],
        },
        {
          title: 'Time of jobs, p95',
          description: 'By kind; the native backend takes half to three quarters of the time of noble.',
          unit: 's',
          queries: [{ expr: quantile(0.95, 'bls_job_duration_seconds', '', 'kind'), legend: '{{kind}}' }],
        },
        {
          title: 'Signatures',
          description: 'From the store, looked for in vain, and bad ones found after a failed check.',
          unit: 'ops',
          queries: [
            { expr: `sum(rate(${P}signature_cache_hits_total{${NET}}[${RATE}]))`, legend: 'known' },
            { expr: `sum(rate(${P}signature_cache_misses_total{${NET}}[${RATE}]))`, legend: 'not known' },
            { expr: `sum(rate(${P}bad_signers_total{${NET}}[${RATE}]))`, legend: 'bad' },
          ],
        },
      ],
    },
    {
      title: 'Shared with other replicas',
      panels: [
        {
          title: 'Collections',
          description: 'found and waited: another replica had done the work. alone: the store was away.',
          unit: 'reqps',
          isStacked: true,
          queries: [
            {
              expr: `sum by (outcome) (rate(${P}shared_work_total{${NET}}[${RATE}])) or vector(0)`,
              legend: '{{outcome}}',
            },
          ],
        },
        {
          title: 'Spans of traces',
          description: 'failed and dropped ones are lost: the collector is away, or too slow. 0 without traces.',
          unit: 'ops',
          queries: [
            { expr: `sum by (outcome) (rate(${P}trace_spans_total[${RATE}])) or vector(0)`, legend: '{{outcome}}' },
          ],
        },
      ],
    },
    {
      title: 'Process',
      panels: [
        {
          title: 'Event-loop delay, p99',
          description: 'All else waits for it. Above 0.1 s everything is slow.',
          unit: 's',
          queries: [{ expr: 'nodejs_eventloop_lag_p99_seconds', legend: '{{instance}}' }],
        },
        {
          title: 'Memory',
          description:
            'The heap of the main thread is one part; the BLS threads and buffers outside of heaps are others.',
          unit: 'bytes',
          queries: [
            { expr: 'process_resident_memory_bytes', legend: 'resident {{instance}}' },
            { expr: 'nodejs_heap_size_used_bytes', legend: 'heap {{instance}}' },
            { expr: 'nodejs_external_memory_bytes', legend: 'external {{instance}}' },
          ],
        },
        {
          title: 'CPU',
          description: 'In cores.',
          unit: 'short',
          queries: [{ expr: `rate(process_cpu_seconds_total[${RATE}])`, legend: '{{instance}}' }],
        },
        {
          title: 'Garbage collection',
          description: 'Share of the time.',
          unit: 'percentunit',
          queries: [{ expr: `sum by (kind) (rate(nodejs_gc_duration_seconds_sum[${RATE}]))`, legend: '{{kind}}' }],
        },
        {
          title: 'Requests under way',
          description: 'Over HTTP, of all routes.',
          unit: 'short',
          queries: [{ expr: `${P}http_requests_in_flight`, legend: '{{instance}}' }],
        },
        {
          title: 'Open files',
          description: 'Each peer and each client is one.',
          unit: 'short',
          queries: [
            { expr: 'process_open_fds', legend: 'open {{instance}}' },
            { expr: 'process_max_fds', legend: 'limit {{instance}}' },
          ],
        },
      ],
    },
  ],
};

/** By the names of their files below deploy/grafana. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  'overview.json': overview,
  'subnet.json': subnet,
  'peers.json': peers,
  'process.json': processes,
};
