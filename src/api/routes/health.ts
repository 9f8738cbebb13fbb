import { Type } from 'typebox';
import type { SubnetReadiness } from '../../aggregator/required-subnet.ts';
import type { NodeID } from '../../primitives/ids.ts';
import type { Server } from '../http-server.ts';

const READINESS = {
  status: Type.Union([Type.Literal('up'), Type.Literal('down')]),
  nodeId: Type.String({ description: 'The identity under which validators know this service' }),
  subnets: Type.Array(
    Type.Object({
      subnetId: Type.String(),
      status: Type.Union([Type.Literal('up'), Type.Literal('down')]),
      connectedWeight: Type.Optional(Type.String()),
      totalWeight: Type.Optional(Type.String()),
    }),
  ),
};
const READY = Type.Object(READINESS, { description: 'Each of the subnets is up' });
const NOT_READY = Type.Object(READINESS, { description: 'At least one of the subnets is down' });

/** Live: the process answers. Ready: the configured quorum of the primary network and of each tracked subnet is connected. */
export function registerHealth(server: Server, nodeID: NodeID, readiness: () => readonly SubnetReadiness[]): void {
  server.get(
    '/health/live',
    {
      schema: {
        operationId: 'live',
        tags: ['Health'],
        summary: 'Whether the process answers',
        response: { 200: Type.Object({ status: Type.Literal('up') }, { description: 'It does' }) },
      },
    },
    async () => ({ status: 'up' as const }),
  );
  server.get(
    '/health/ready',
    {
      schema: {
        operationId: 'ready',
        tags: ['Health'],
        summary: 'Whether enough stake is connected to serve requests',
        response: { 200: READY, 503: NOT_READY },
      },
    },
    async (_request, reply) => {
      const subnets = readiness();
      const isReady = subnets.every(({ isUp }) => isUp);
      if (!isReady) reply.header('retry-after', 2);
      return reply.status(isReady ? 200 : 503).send({
        status: upOrDown(isReady),
        nodeId: nodeID,
        subnets: subnets.map(({ subnetID, isUp, connected }) => ({
          subnetId: subnetID,
          status: upOrDown(isUp),
          ...(connected && {
            connectedWeight: String(connected.weight),
            totalWeight: String(connected.totalWeight),
          }),
        })),
      });
    },
  );
}

function upOrDown(isUp: boolean): 'up' | 'down' {
  return isUp ? 'up' : 'down';
}
