import type { Static, TObject } from 'typebox';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import { plainErrorResponses } from '../../http/errors/error-body.ts';
import type { Server } from '../../http/request/http-server.ts';
import { createNetworkOfPath } from '../../http/request/network-of-path.ts';
import { PLAIN_SERIALIZER } from '../../http/request/plain-serializer.ts';
import { oneOf, optionalText, Type, text } from '../../lib/encoding/schema.ts';
import type { Network, NetworkReadiness, NetworkStatus } from '../../network/network.ts';

const Status = oneOf(
  ['starting', 'up', 'degraded', 'down', 'stopping'],
  '`up`: enough weight of the primary network and of every tracked subnet is connected, and their validator sets can be ' +
    'read; `degraded`: enough of the primary network, but not of every subnet, or a set cannot be read anew; `down`: not of the primary network; `starting`: not yet, and it is not yet late; ' +
    '`stopping`: what comes now is still answered, and soon no more',
);
const reason = optionalText('Why it is not up');

const NETWORK = {
  name: text(),
  status: Status,
  reason,
  nodeId: optionalText('The identity under which validators know this service'),
  subnets: Type.Array(
    Type.Object({
      subnetId: text(),
      status: oneOf(['up', 'down']),
      reason: optionalText('Why it is down, or what is wrong although it is up'),
      connectedWeight: optionalText(),
      totalWeight: optionalText(),
    }),
    { description: 'The primary network first, then the tracked subnets' },
  ),
};
const SERVICE = {
  status: oneOf(
    ['starting', 'up', 'degraded', 'down', 'stopping'],
    'Of all networks together: `starting` while one of them is; `up` where all are; `down` where all are; else `degraded`. ' +
      '`stopping` where the service is about to end',
  ),
  identityProblem: optionalText(
    'Set where another process seems to use the same NodeID, and to take the connections to validators: what to do',
  ),
  networks: Type.Array(Type.Object(NETWORK)),
};

export type ReadinessBody = Static<TObject<typeof SERVICE>>;

/** What readiness depends on beside the networks. */
export interface ServiceState {
  /** About to end: requests are to be sent elsewhere. */
  readonly isStopping?: () => boolean;
  /** Who else uses our identity and what to do about it, in words that strangers may read. */
  readonly identityProblem?: () => string | undefined;
}

const RETRY_AFTER_SECONDS = 2;
const tags = ['Health'];
const config = { access: OPERATIONS_ACCESS };
/** Probes ask a service that has nothing else to do, too. */
const serializerCompiler = PLAIN_SERIALIZER;

/** Live: the process answers. Ready: it can serve at least one network, and none is still starting. */
export function registerHealth(
  server: Server,
  networks: readonly Network[],
  { isStopping = () => false, identityProblem = () => undefined }: ServiceState = {},
): void {
  server.get(
    '/health/live',
    {
      ...{ config, serializerCompiler },
      schema: {
        operationId: 'live',
        tags,
        summary: 'Whether the process answers',
        response: { 200: Type.Object({ status: Type.Literal('up') }, { description: 'It does' }) },
      },
    },
    async () => ({ status: 'up' as const }),
  );
  server.get(
    '/health/ready',
    {
      ...{ config, serializerCompiler },
      schema: {
        operationId: 'ready',
        tags,
        summary: 'Whether the service can serve requests',
        description:
          'Ready is a service with at least one network that is `up` or `degraded`, and none that is `starting`.',
        response: {
          200: Type.Object(SERVICE, { description: 'It can' }),
          503: Type.Object(SERVICE, { description: 'It cannot, or not yet' }),
        },
      },
    },
    async (_request, reply) => {
      const readiness = networks.map((network) => network.readiness());
      const { isReady, status } = decideReadiness(readiness, isStopping());
      if (!isReady) reply.header('retry-after', RETRY_AFTER_SECONDS);
      const problem = identityProblem();
      return reply.status(isReady ? 200 : 503).send({
        status,
        ...(problem !== undefined && { identityProblem: problem }),
        networks: readiness.map(present),
      });
    },
  );
  const { network, networkOf, onRequest } = createNetworkOfPath(networks);
  server.get(
    '/health/ready/:network',
    {
      config,
      schema: {
        operationId: 'readyNetwork',
        tags,
        summary: 'Whether requests for one network can be served',
        params: Type.Object({ network }),
        response: {
          200: Type.Object(NETWORK, { description: 'The network is `up` or `degraded`' }),
          503: Type.Object(NETWORK, { description: 'The network is `down` or `starting`' }),
          ...plainErrorResponses(404),
        },
      },
      onRequest,
      serializerCompiler,
    },
    async (request, reply) => {
      const readiness = networkOf(request).readiness();
      const stops = isStopping();
      const isReady = isServing(readiness.status) && !stops;
      if (!isReady) reply.header('retry-after', RETRY_AFTER_SECONDS);
      return reply
        .status(isReady ? 200 : 503)
        .send({ ...present(readiness), ...(stops && { status: 'stopping' as const }) });
    },
  );
}

/** Of all networks together: a network that is down, or a weak subnet, does not take a service that serves the rest out of use. */
export function decideReadiness(
  networks: readonly Pick<NetworkReadiness, 'status'>[],
  isStopping: boolean,
): {
  readonly isReady: boolean;
  readonly status: NetworkStatus | 'stopping';
} {
  if (isStopping) return { isReady: false, status: 'stopping' };
  const statuses = networks.map(({ status }) => status);
  if (statuses.includes('starting')) return { isReady: false, status: 'starting' };
  if (!statuses.some(isServing)) return { isReady: false, status: 'down' };
  return { isReady: true, status: statuses.every((status) => status === 'up') ? 'up' : 'degraded' };
}

export function isServing(status: NetworkStatus): boolean {
  return status === 'up' || status === 'degraded';
}

function present(readiness: NetworkReadiness) {
  return {
    name: readiness.name,
    status: readiness.status,
    ...(readiness.reason !== undefined && { reason: readiness.reason }),
    ...(readiness.nodeID !== undefined && { nodeId: readiness.nodeID }),
    subnets: readiness.subnets.map((subnet) => ({
      subnetId: subnet.subnetID,
      status: subnet.isUp ? ('up' as const) : ('down' as const),
      ...(subnet.reason !== undefined && { reason: subnet.reason }),
      ...(subnet.connected !== undefined && {
        connectedWeight: String(subnet.connected.weight),
        totalWeight: String(subnet.connected.totalWeight),
      }),
    })),
  };
}
