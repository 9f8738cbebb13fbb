import { createServer } from '../../src/api/server.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/http/errors/error-codes.ts';
import type { Server } from '../../src/http/request/http-server.ts';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import type { Network } from '../../src/network/network.ts';
import { listenerOptions } from '../unit/api/api-fixture.ts';

/** The most services in one world. */
const SERVICES = 4;

export type HttpAnswer =
  | { readonly kind: 'signed'; readonly body: SignedBody }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly status: number; readonly message: string }
  | { readonly kind: 'malformed'; readonly what: string };

export interface SignedBody {
  readonly signedMessage: string;
  readonly pChainHeight: number;
  readonly signingSubnetId: string;
  readonly signedWeight: string;
  readonly totalWeight: string;
}

/**
 * The HTTP server of the service, all of it but its socket. To build it takes longer than to run a hundred simulations: one stands for all
 * of them, in front of networks that hand requests to those of the world under way.
 */
export class HttpDoor {
  readonly #server: Server;
  readonly #world: Led;
  /** Raw answers of requests under way, by request ID. */
  readonly #underWay: UnderWay;

  private constructor(server: Server, world: Led, underWay: UnderWay) {
    this.#server = server;
    this.#world = world;
    this.#underWay = underWay;
  }

  static async open(clock: Clock): Promise<HttpDoor> {
    const world: Led = { networks: [], clock };
    const underWay: UnderWay = new Map();
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
    return new HttpDoor(server, world, underWay);
  }

  /** Sets the networks that requests go to. */
  lead(networks: readonly Network[], clock: Clock): void {
    this.#world.networks = networks;
    this.#world.clock = clock;
  }

  get requestsUnderWay(): number {
    return this.#underWay.size;
  }

  /** Ends the client's connection. */
  leave(requestID: string): void {
    this.#underWay.get(requestID)?.destroy();
  }

  /** @returns undefined if the client left before the answer */
  async post(service: number, body: object, client: string, requestID: string): Promise<HttpAnswer | undefined> {
    try {
      const { statusCode, body: text } = await this.#server.inject({
        method: 'POST',
        url: `/v1/signatureAggregator/sim-${service}/aggregateSignatures`,
        remoteAddress: client,
        headers: { 'x-request-id': requestID },
        payload: body,
      });
      return parseAnswer(statusCode, text);
    } catch (error) {
      // The destroyed answer of a client that left.
      if ((error as { code?: string }).code === 'LIGHT_ECONNRESET') return undefined;
      throw error;
    }
  }
}

/** The current targets of the door. */
interface Led {
  networks: readonly Network[];
  clock: Clock;
}

type UnderWay = Map<string, { destroy(): void }>;

function doorTo(index: number, world: Led): Network {
  const behind = (): Network => {
    const network = world.networks[index];
    if (network === undefined) throw new Error(`the world has no service ${index}`);
    return network;
  };
  return {
    name: `sim-${index}`,
    pathNames: [`sim-${index}`],
    aggregator: { aggregate: (request, options) => behind().aggregator.aggregate(request, options) },
    get subnets() {
      return behind().subnets;
    },
    get verifier() {
      return behind().verifier;
    },
    get uptimes() {
      return behind().uptimes;
    },
    readiness: () => behind().readiness(),
    untilUp: (signal) => behind().untilUp(signal),
    [Symbol.asyncDispose]: async () => {},
  };
}

function parseAnswer(status: number, text: string): HttpAnswer {
  const body = JSON.parse(text) as Record<string, unknown>;
  if (status === 201) return { kind: 'signed', body: body as unknown as SignedBody };
  const { code, message, statusCode } = body;
  if (typeof code !== 'string' || typeof message !== 'string' || statusCode !== status || !(code in ERROR_CODES)) {
    return { kind: 'malformed', what: `status ${status}: ${text.slice(0, 300)}` };
  }
  const expected = ERROR_CODES[code as ErrorCode].status;
  if (expected !== status) return { kind: 'malformed', what: `${code} with status ${status}` };
  return { kind: 'error', code: code as ErrorCode, status, message };
}
