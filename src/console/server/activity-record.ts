import type { Static } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { INTERVAL_MS, MAX_INTERVALS } from './request-history.ts';
import { MAX_SAMPLES, MAX_SUBNETS } from './weight-history.ts';

const Count = Type.Integer();
const UnixMs = Type.Integer({ description: 'Unix time in milliseconds' });
const Ratio = Type.Number({ description: 'Of the total weight, from 0 to 1' });

/** What the console's view of the service shows, and the charts of its view of subnets. */
export const ActivityBody = Type.Object(
  {
    version: Type.String(),
    node: Type.String({ description: 'Version of Node' }),
    blsBackend: Type.String(),
    startedAt: UnixMs,
    now: UnixMs,
    memoryBytes: Type.Number({ description: 'Of the process, as the system counts it' }),
    requestsInFlight: Count,
    intervalMs: Type.Integer({ description: 'Length of each interval, but for the last one, which goes on' }),
    intervals: Type.Array(
      Type.Object({
        endsAt: UnixMs,
        requests: Type.Object(
          { '2xx': Count, '4xx': Count, '5xx': Count, gone: Count },
          { description: 'To the API, by the class of the status; `gone`: the client left before its answer' },
        ),
        aggregations: Type.Object({ signed: Count, failed: Count }),
        medianMs: Type.Optional(Type.Number({ description: 'Of the time to the end of an answer' })),
        p99Ms: Type.Optional(Type.Number()),
      }),
      { description: `The last hour, the oldest first: at most ${MAX_INTERVALS} of ${INTERVAL_MS / 1_000} seconds` },
    ),
    workers: Type.Object(
      { threads: Count, jobsRunning: Count, jobsWaiting: Count },
      { description: 'What verifies BLS signatures' },
    ),
    networks: Type.Array(
      Type.Object({
        name: Type.String(),
        pChainHeight: Type.Optional(Type.Integer()),
        peersConnected: Count,
        peersWanted: Count,
        peersConnecting: Count,
        aggregationsInFlight: Count,
        aggregationsLimit: Count,
        subnets: Type.Array(
          Type.Object({
            subnetId: Type.String(),
            samples: Type.Array(Type.Object({ at: UnixMs, connected: Ratio, signable: Ratio }), {
              description: `Since the start, or since it was first asked for: at most ${MAX_SAMPLES}, the oldest first`,
            }),
          }),
          { description: `At most ${MAX_SUBNETS} over all networks` },
        ),
      }),
    ),
    sharedStore: Type.Optional(
      Type.Object({ isConnected: Type.Boolean() }, { description: 'Where replicas share a Redis' }),
    ),
    upstreams: Type.Array(
      Type.Object({
        name: Type.String(),
        isLeftAlone: Type.Boolean({ description: 'Whether it is asked nothing for now, as it is down' }),
        requests: Type.Array(Type.Object({ outcome: Type.String(), count: Count })),
      }),
    ),
  },
  {
    description: 'What the service does, and did over the last hour',
    // Of one that has just started on the devnet.
    examples: [
      {
        ...{ version: '0.1.0', node: 'v24.21.0', blsBackend: 'noble', startedAt: 1_795_351_374_508 },
        ...{ now: 1_795_351_376_322, memoryBytes: 268_730_368, requestsInFlight: 1, intervalMs: INTERVAL_MS },
        intervals: [
          {
            endsAt: 1_795_351_376_322,
            requests: { '2xx': 5, '4xx': 0, '5xx': 0, gone: 0 },
            aggregations: { signed: 1, failed: 0 },
            ...{ medianMs: 7.5, p99Ms: 242.5 },
          },
        ],
        workers: { threads: 1, jobsRunning: 0, jobsWaiting: 0 },
        networks: [
          {
            ...{ name: 'local', pChainHeight: 200, peersConnected: 6, peersWanted: 5, peersConnecting: 0 },
            ...{ aggregationsInFlight: 0, aggregationsLimit: 64 },
            subnets: [
              {
                subnetId: '11111111111111111111111111111111LpoYY',
                samples: [{ at: 1_795_351_376_322, connected: 1, signable: 1 }],
              },
            ],
          },
        ],
        upstreams: [],
      },
    ],
  },
);
export type ActivityBody = Static<typeof ActivityBody>;
