import type { AggregationResult } from '../../src/aggregation/request/aggregation-request.ts';
import { createServer } from '../../src/api/server.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/http/errors/error-codes.ts';
import { type Clock, systemClock } from '../../src/lib/concurrency/clock.ts';
import { bytesToHex, parseHex } from '../../src/lib/encoding/bytes.ts';
import type { Network } from '../../src/network/network.ts';
import type { SubnetID } from '../../src/warp/ids.ts';
import { listenerOptions } from '../unit/api/api-fixture.ts';
import type { Invariants, LiveRequest } from './invariants.ts';

/** The most processes in one world: four replicas, those that replace three of them, and four after the faults. */
const SERVICES = 12;

/** The outcome of one request. */
export type Outcome =
  | { readonly kind: 'signed'; readonly result: Omit<AggregationResult, 'signers' | 'weights'> }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'left' };

/** The processes that requests go to, by their number, and their clock. */
interface Led {
  services: readonly { readonly service: { readonly network: Network }; readonly invariants: Invariants }[];
  clock: Clock;
}

export type HttpDoor = Awaited<ReturnType<typeof openHttpDoor>>;

/**
 * The HTTP server of the service, all of it but its socket. To build it takes longer than to run a hundred simulations: one stands for all
 * of them, in front of networks that hand requests to those of the world under way.
 */
export async function openHttpDoor() {
  const world: Led = { services: [], clock: systemClock };
  /** Raw answers of requests under way, by request ID. */
  const underWay = new Map<string, { destroy(): void }>();
  const server = await createServer({
    networks: Array.from({ length: SERVICES }, (_, index) => doorTo(index, world)),
    ...listenerOptions({
      clock: {
        now: () => world.clock.now(),
        monotonicMs: () => world.clock.monotonicMs(),
        after: (delayMs, callback) => world.clock.after(delayMs, callback),
        afterTurn: (callback) => world.clock.afterTurn(callback),
      },
    }),
    registerMore: (routes) =>
      void routes.addHook('onRequest', (request, reply, done) => {
        underWay.set(request.id, reply.raw);
        reply.raw.once('close', () => underWay.delete(request.id));
        done();
      }),
  });
  return {
    lead(services: Led['services'], clock: Clock): void {
      Object.assign(world, { services, clock });
    },
    get requestsUnderWay(): number {
      return underWay.size;
    },
    /** Ends the client's connection. */
    leave(requestID: string): void {
      underWay.get(requestID)?.destroy();
    },
    async post(service: number, live: LiveRequest, requestID: string): Promise<Outcome> {
      try {
        const { statusCode, body } = await server.inject({
          method: 'POST',
          url: `/v1/signatureAggregator/sim-${service}/aggregateSignatures?wait=${live.plan.waitMs / 1_000}`,
          remoteAddress: `10.0.0.${live.plan.client}`,
          headers: { 'x-request-id': requestID },
          payload: bodyOf(live),
        });
        return readAnswer(statusCode, body);
      } catch (error) {
        // The destroyed answer of a client that left.
        if ((error as { code?: string }).code === 'LIGHT_ECONNRESET') return { kind: 'left' };
        throw error;
      }
    },
  };
}

/** A network of which only the aggregator is used. */
function doorTo(index: number, world: Led): Network {
  const aggregator: Network['aggregator'] = {
    aggregate(request, options) {
      const { service, invariants } = world.services[index] ?? fail(`the world has no service ${index}`);
      return invariants.listen((onProgress) =>
        service.network.aggregator.aggregate(request, Object.assign(options, { onProgress })),
      );
    },
  };
  return { name: `sim-${index}`, pathNames: [`sim-${index}`], aggregator } as Partial<Network> as Network;
}

function fail(problem: string): never {
  throw new Error(problem);
}

function bodyOf({ plan, message: { message } }: LiveRequest): object {
  const { quorum, buffer, height, justification, signingSubnetID, destinationChainID } = plan;
  return {
    message: bytesToHex(message.bytes),
    ...(justification.length > 0 && { justification: bytesToHex(justification) }),
    quorumPercentage: quorum,
    quorumPercentageBuffer: buffer,
    pChainHeight: Number(height),
    ...(signingSubnetID !== undefined && { signingSubnetId: signingSubnetID }),
    ...(destinationChainID !== undefined && { destinationBlockchainId: destinationChainID }),
  };
}

/** @throws if the answer has another form than documented */
function readAnswer(status: number, text: string): Outcome {
  const body = JSON.parse(text) as Record<string, string>;
  if (status === 201) {
    const { signedMessage, pChainHeight = '', signingSubnetId, signedWeight = '', totalWeight = '' } = body;
    const result = {
      signedMessage: parseHex(String(signedMessage), 'signedMessage'),
      pChainHeight: BigInt(pChainHeight),
      signingSubnetID: signingSubnetId as SubnetID,
      signedWeight: BigInt(signedWeight),
      totalWeight: BigInt(totalWeight),
    };
    return { kind: 'signed', result };
  }
  const { code, message, statusCode } = body as Record<string, unknown>;
  const isError = typeof code === 'string' && typeof message === 'string' && statusCode === status;
  if (!isError || ERROR_CODES[code as ErrorCode]?.status !== status) fail(`status ${status}: ${text.slice(0, 300)}`);
  return { kind: 'error', code };
}
