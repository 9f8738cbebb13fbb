import { type Static, type TObject, Type } from 'typebox';
import { plainErrorResponses } from '../../http/errors/error-body.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { Decimal, inJson, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import type { Network, NetworkReadiness, NetworkStatus } from '../../network/network.ts';

const STATUSES = ['starting', 'up', 'degraded', 'down', 'stopping'] as const;
const Status = oneOf(
  STATUSES,
  '`up`: enough weight of the primary network and of every tracked subnet is connected, and their validator sets can be ' +
    'read; `degraded`: enough of the primary network, but not of every subnet, or a set cannot be refreshed; `down`: not enough of ' +
    'the primary network; `starting`: not yet decided; `stopping`: shutdown has begun, requests are still answered',
);
/** The state of a subnet, without its validators. */
export const SUBNET_STATE = {
  subnetId: text(),
  status: oneOf(['up', 'down']),
  reason: optionalText('Why it is down, or what is wrong although it is up'),
  connectedWeight: Type.Optional(Decimal),
  totalWeight: Type.Optional(Decimal),
};
const NETWORK = {
  name: text(),
  status: Status,
  reason: optionalText('Why it is not up'),
  networkId: Type.Optional(integer('Missing until the API of the network has answered')),
  nodeId: optionalText('The staking identity of this service'),
  subnets: Type.Array(Type.Object(SUBNET_STATE, { title: 'SubnetState' }), {
    description: 'The primary network first, then the tracked subnets',
  }),
};
const SERVICE = {
  status: oneOf(
    STATUSES,
    'All networks together: `starting` if one of them is; `up` if all are; `down` if all are; else `degraded`; `stopping` during ' +
      'shutdown',
  ),
  identityProblem: optionalText(
    'What to do about another process that seems to use the same NodeID and takes over the connections to validators',
  ),
  networks: Type.Array(Type.Object(NETWORK, { title: 'NetworkReadiness' })),
};

export type ReadinessBody = Static<TObject<typeof SERVICE>>;

export interface ServiceState {
  /** Whether shutdown has begun: load balancers should send requests elsewhere. */
  readonly isStopping: () => boolean;
  /** Another user of our identity and what to do about it, without internal details. */
  readonly identityProblem: () => string | undefined;
}

const RETRY_AFTER_SECONDS = 2;
const tags = ['Health'];
const config = { access: OPERATIONS_ACCESS };
const serializerCompiler = PLAIN_SERIALIZER;

/** Live: the process answers. Ready: at least one network can be served, and none is starting. */
export function registerHealth(
  server: Server,
  networks: readonly Network[],
  { network, networkOf, onRequest }: NetworkOfPath<Network>,
  { isStopping, identityProblem }: ServiceState,
): void {
  server.get(
    '/health/live',
    {
      config,
      serializerCompiler,
      schema: {
        operationId: 'live',
        tags,
        summary: 'Whether the process answers',
        response: {
          200: Type.Object({ status: Type.Literal('up') }, { title: 'Liveness', description: 'The process answers' }),
        },
      },
    },
    async () => ({ status: 'up' as const }),
  );
  server.get(
    '/health/ready',
    {
      config,
      serializerCompiler,
      schema: {
        operationId: 'ready',
        tags,
        summary: 'Whether the service can serve requests',
        description: 'Ready means that at least one network is `up` or `degraded`, and none is `starting`.',
        response: {
          200: Type.Object(SERVICE, { title: 'Readiness', 'x-response-description': 'Ready' }),
          503: Type.Object(SERVICE, { title: 'Readiness', 'x-response-description': 'Not ready' }),
        },
      },
    },
    async (_request, reply) => {
      const readiness = networks.map((network) => network.readiness());
      const { isReady, status } = decideReadiness(readiness, isStopping());
      if (!isReady) reply.header('retry-after', RETRY_AFTER_SECONDS);
      const body = { status, identityProblem: identityProblem(), networks: readiness.map(present) };
      return reply.status(isReady ? 200 : 503).send(inJson(body));
    },
  );
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
          200: Type.Object(NETWORK, {
            title: 'NetworkReadiness',
            'x-response-description': 'The network is `up` or `degraded`',
          }),
          503: Type.Object(NETWORK, {
            title: 'NetworkReadiness',
            'x-response-description': 'The network is `down` or `starting`',
          }),
          ...plainErrorResponses(404),
        },
      },
      onRequest,
      serializerCompiler,
    },
    async (request, reply) => {
      const readiness = networkOf(request).readiness();
      const { isReady, status } = decideReadiness([readiness], isStopping());
      if (!isReady) reply.header('retry-after', RETRY_AFTER_SECONDS);
      return reply.status(isReady ? 200 : 503).send({ ...present(readiness), status });
    },
  );
}

/** One network that is down, or a weak subnet, does not make the service unready. */
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

function isServing(status: NetworkStatus): boolean {
  return status === 'up' || status === 'degraded';
}

function present({ name, status, reason, networkID, nodeID, subnets }: NetworkReadiness) {
  const states = subnets.map(presentSubnetState);
  return inJson({ name, status, reason, networkId: networkID, nodeId: nodeID, subnets: states });
}

export function presentSubnetState({ subnetID, isUp, reason, connected }: NetworkReadiness['subnets'][number]) {
  return inJson({
    subnetId: subnetID,
    status: isUp ? ('up' as const) : ('down' as const),
    reason,
    connectedWeight: connected && String(connected.weight),
    totalWeight: connected && String(connected.totalWeight),
  });
}
